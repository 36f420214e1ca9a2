"""The law that words ought to have, and the classes that stand in for it where none is known."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from specaudit.checks.law1.target import (
    OTHER,
    UNFORESEEN,
    known_words,
    prompt_context,
    prompt_contexts,
    token_classes,
    word_counts,
)
from specaudit.model.evidence import END, Draws
from tests.checks.chains import SETTINGS, START, STEP, draw, law_evidence


def draws(rows, vocabulary=(0, 1, 2), prompts=None):
    tokens = np.array(rows)
    count = np.zeros(len(tokens), np.int64)
    return Draws(
        tokens=tokens,
        prompt_index=count if prompts is None else np.array(prompts),
        slot=np.arange(len(tokens)),
        asked=count + tokens.shape[1],
        vocabulary=vocabulary,
        planned=len(tokens),
    )


def pilot(rows):
    """Evidence whose pilot is these completions."""
    return law_evidence({"subject": np.array(rows[:1])}, exact=False, pilot=np.array(rows))


def test_words_are_counted_by_prompt_and_depth_and_an_end_is_one_of_their_tokens():
    seen = draws([[0, 1, 2], [0, 1, 2], [2, 1, END], [1, 1, 1]], vocabulary=("a", "b", "c"), prompts=[0, 0, 0, 1])
    assert word_counts(SETTINGS, seen, 0, 0) == {("a", "b"): 2, ("c", "b"): 1}
    assert word_counts(SETTINGS, seen, 1, 0) == {("b", "c"): 2, ("b", END): 1}
    assert word_counts(SETTINGS, seen, 1, 1) == {("b", "b"): 1}
    assert not word_counts(SETTINGS, seen, 0, 2)


def test_the_exact_law_of_words_is_the_chains():
    evidence = law_evidence({"subject": draw(np.random.default_rng(0), 10)}, exact=True)
    first, later = (known_words(SETTINGS, evidence, prompt_contexts(evidence), depth) for depth in (0, 2))
    assert first is not None
    assert later is not None
    assert first.level == "exact"
    words = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [first.laws[0][word] for word in words] == pytest.approx((START[:, None] * STEP).ravel())
    third = START @ STEP @ STEP
    assert [later.laws[0][word] for word in words] == pytest.approx((third[:, None] * STEP).ravel())


def test_a_law_that_one_of_the_prompts_lacks_is_not_known():
    evidence = law_evidence({"subject": draw(np.random.default_rng(0), 10)}, exact=True)
    both = msgspec.structs.replace(SETTINGS, prompts=2)
    assert known_words(both, evidence, prompt_contexts(evidence), 0) is None
    assert known_words(SETTINGS, pilot([[0, 1, 0, 1]]), ((),), 0) is None


def test_a_text_whose_tokens_nobody_told_is_one_token():
    evidence = pilot([[0, 1, 0, 1]])
    assert prompt_context(evidence, "text") == ("text",)
    assert prompt_context(evidence, (3, 1)) == (3, 1)
    assert prompt_context(evidence, ()) == ()


def test_where_there_are_as_many_classes_as_tokens_each_is_its_own():
    found = token_classes(SETTINGS, pilot([[0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 1, 1]]), 0)
    assert found is not None
    assert found.lossless
    assert found.alone == ((frozenset({0, 1}), frozenset({0, 1})),)
    assert found.counts(0, Counter({(0, 1): 3, (0, 7): 2})) == {(0, 1): 3, (0, UNFORESEEN): 2}


def test_the_frequent_tokens_are_classes_and_the_others_share_one():
    settings = msgspec.structs.replace(SETTINGS, classes=2)
    found = token_classes(settings, pilot([[5, 0, 0, 0]] * 5 + [[6, 0, 0, 0]] * 3 + [[7, 1, 0, 0]]), 0)
    assert found is not None
    assert not found.lossless
    assert found.alone == ((frozenset({5}), frozenset({0, 1})),)
    assert found.counts(0, Counter({(6, 0): 1, (7, 0): 1, (8, 0): 1})) == {(OTHER, 0): 2, (UNFORESEEN, 0): 1}
    assert found.cells == {(0, (5, 0)): 5, (0, (OTHER, 0)): 3, (0, (OTHER, 1)): 1}
    assert found.usual == ((5, 0),)
    assert found.outside_usual == pytest.approx(4 / 9)


def test_without_a_pilot_of_every_prompt_there_are_no_classes():
    assert token_classes(SETTINGS, law_evidence({"subject": np.array([[0, 1, 0, 1]])}, exact=False), 0) is None
    assert token_classes(msgspec.structs.replace(SETTINGS, prompts=2), pilot([[0, 1, 0, 1]]), 0) is None
