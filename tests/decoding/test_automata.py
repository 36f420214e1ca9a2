import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.automata import FREE, Automata, Grammar, string_matcher

from .strategies import steady

TEXTS = ("a", "b", "ab", "ba", "", "c")


@steady
@given(
    strings=st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3),
    tokens=st.lists(st.integers(0, len(TEXTS) - 1), max_size=12),
)
def test_a_string_is_found_by_the_token_that_completes_it(strings, tokens):
    table = string_matcher(strings, TEXTS)
    state, text = 0, ""
    for token in tokens:
        spelt = [text + TEXTS[token][:end] for end in range(1, len(TEXTS[token]) + 1)]
        completed = any(head.endswith(string) for head in spelt for string in strings)
        text += TEXTS[token]
        state = table[state, token]
        assert (state == -1) == completed
        if completed:
            return


def test_automata_share_a_table_and_keep_apart():
    automata = Automata(2)
    first = automata.add(np.array([[1, -1], [0, 0]]))
    second = automata.add(np.array([[0, -1]]))
    assert (first, second) == (1, 3)
    states = np.array([FREE, first, first + 1, second])
    np.testing.assert_array_equal(automata.step(states, np.array([0, 0, 1, 0])), [FREE, 2, 1, 3])
    np.testing.assert_array_equal(automata.next[states, 1], [FREE, -1, 1, -1])
    np.testing.assert_array_equal(automata.step(states, np.ones(4, dtype=int)), [FREE, FREE, 1, FREE])


def test_a_run_takes_as_many_tokens_as_each_row_has():
    automata = Automata(2)
    start = automata.add(np.array([[1, 0], [2, 1], [2, 2]]))
    states = automata.run(np.full(4, start), np.array([[0, 0], [0, 0], [0, 1], [1, 0]]), np.array([0, 1, 2, 2]))
    np.testing.assert_array_equal(states - start, [0, 1, 1, 1])


def test_automata_are_over_one_vocabulary():
    with pytest.raises(ValueError, match="a grammar over 3 tokens cannot rule 2 tokens"):
        Automata(2).add(np.zeros((1, 3), dtype=int))


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        (np.zeros(3, dtype=int), r"must be integers \[S, V\], got int64 \[3\]"),
        (np.zeros((1, 2)), "must be integers"),
        (np.array([[1, 0]]), "must lead to states 0 to 0, or to -1"),
        (np.array([[-2, 0]]), "must lead to states 0 to 0, or to -1"),
    ],
)
def test_tables_that_are_no_grammar_are_refused(transition, message):
    with pytest.raises(ValueError, match=message):
        Grammar(transition)
