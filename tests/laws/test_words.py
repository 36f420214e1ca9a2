"""The law of words is the chain rule, summed over what comes before."""

import itertools

import numpy as np
import pytest

from specaudit.laws.contexts import ExactLaws, ScoredLaws
from specaudit.laws.words import unknown_contexts, word_law
from specaudit.model.law import RevealedLaw
from specaudit.model.request import Sampling

START = np.array([0.2, 0.5, 0.3])
STEP = np.array([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5], [0.3, 0.3, 0.4]])


def revealed() -> RevealedLaw:
    rows = np.vstack([START, STEP])
    logprobs = tuple(tuple(float(np.log(p)) if p else None for p in row) for row in rows)
    return RevealedLaw(order=1, contexts=((), (0,), (1,), (2,)), logprobs=logprobs)


@pytest.mark.parametrize("depth", [0, 1, 2, 7])
def test_the_marginal_law_of_a_markov_chain(depth):
    words = word_law(ExactLaws(revealed(), Sampling()), (), depth, 2)
    assert words is not None
    first = START @ np.linalg.matrix_power(STEP, depth)
    for word, probability in words.items():
        assert probability == pytest.approx(first[word[0]] * STEP[word[0], word[1]], abs=1e-12)
    assert sum(words.values()) == pytest.approx(1)
    assert (1, 1) not in words  # impossible words have no cell


def test_the_last_token_of_the_prompt_is_the_context():
    words = word_law(ExactLaws(revealed(), Sampling()), (2, 1), 0, 1)
    assert words == pytest.approx({(0,): 0.5, (2,): 0.5})


def test_filters_apply_in_every_context():
    words = word_law(ExactLaws(revealed(), Sampling(top_k=1)), (0,), 0, 3)
    assert words == pytest.approx({(1, 0, 1): 1.0})


def tree(prompt: tuple[int, ...], levels: int) -> dict[tuple[int, ...], dict[int, float]]:
    """The whole tree of contexts of `levels` tokens, as a plain arm would score it."""
    laws = {}
    for level in range(levels):
        for tail in itertools.product(range(3), repeat=level):
            row = STEP[([*prompt, *tail])[-1]]
            laws[(*prompt, *tail)] = {token: float(p) for token, p in enumerate(row) if p}
    return laws


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_scored_contexts_give_the_same_law_as_the_exact_one(depth):
    scored = word_law(ScoredLaws(tree((0,), depth + 2)), (0,), depth, 2)
    exact = word_law(ExactLaws(revealed(), Sampling()), (0,), depth, 2)
    assert scored == pytest.approx(exact)


def test_a_missing_context_leaves_the_law_unknown():
    laws = tree((0,), 3)
    del laws[(0, 1, 2)]
    assert word_law(ScoredLaws(laws), (0,), 0, 3) is None
    assert word_law(ScoredLaws(laws), (0,), 0, 2) is not None


def test_the_tree_is_asked_for_level_by_level():
    assert unknown_contexts(ScoredLaws({}), (0,), 3) == [(0,)]
    assert unknown_contexts(ScoredLaws(tree((0,), 1)), (0,), 3) == [(0, 0), (0, 1), (0, 2)]
    laws = tree((0,), 2)
    below = unknown_contexts(ScoredLaws(laws), (0,), 3)
    assert len(below) == 8  # 1 is never followed by 1
    assert unknown_contexts(ScoredLaws(tree((0,), 3)), (0,), 3) == []


def test_impossible_branches_are_not_asked_for():
    assert (0, 1, 1) not in unknown_contexts(ScoredLaws(tree((0,), 2)), (0,), 3)
