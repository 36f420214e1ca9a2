import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.patterns import grammar_of

LETTERS = ("a", "b", "c", "")  # the last one ends the text
ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "(a|b)", "(?:ab|c)", "\\w", "[a-b]"])
REPEATED = st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "{1,}"])).map("".join)
PATTERNS = st.lists(st.lists(REPEATED, min_size=1, max_size=4).map("".join), min_size=1, max_size=2).map("|".join)


def matches(pattern, text):
    """Whether the grammar lets a text be said, and then end."""
    table, state = grammar_of(pattern, LETTERS, eos=3).transition, 0
    for character in text:
        state = table[state, LETTERS.index(character)]
        if state < 0:
            return False
    return bool(table[state, 3] >= 0)


@settings(deadline=None, max_examples=150)
@given(PATTERNS, st.text("abc", max_size=7))
def test_a_text_may_end_where_it_matches(pattern, text):
    assert matches(pattern, text) == bool(re.fullmatch(pattern, text))


def test_what_can_no_longer_match_is_forbidden_at_once():
    table = grammar_of("([ab][cd]){100}", "abcd").transition
    assert len(table) == 201
    np.testing.assert_array_equal(table[0], [1, 1, -1, -1])
    np.testing.assert_array_equal(table[1], [-1, -1, 2, 2])
    assert (table[200] == -1).all()


def test_tokens_may_spell_several_characters():
    table = grammar_of("(ab)*c", ["a", "ab", "b", "c", "abc"]).transition
    assert [table[0, token] >= 0 for token in range(5)] == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", r"a \( is not closed"),
        ("a)", "closes nothing"),
        ("*a", "repeats nothing"),
        ("[ab", "ends too early"),
        ("a{x}", "wants a count"),
        ("a{3,1}", "counts must rise"),
        ("a{2000}", "1000 at most"),
        ("(?=a)", "only groups"),
        ("\\q", "is not known"),
        ("a\\", "ends too early"),
        ("[ab]*a[ab]{20}", "more than 10000 states"),
    ],
)
def test_what_is_no_pattern_is_told_with_its_place(pattern, why):
    with pytest.raises(ValueError, match=why):
        grammar_of(pattern, LETTERS)
