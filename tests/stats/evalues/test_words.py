import re

import numpy as np
import pytest
from scipy.special import gammaln

from specaudit.stats.evalues.contexts import Completions
from specaudit.stats.evalues.words import STRENGTHS, WordCells, Words

LAWS = [np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.75])]


def completions(groups):
    count = int(np.sum(groups))
    empty = np.zeros(0, dtype=int)
    zeros = np.zeros(count, dtype=int)
    return Completions(
        context=empty, cell=empty, uniform=np.zeros(0), lengths=zeros, lost=zeros, groups=np.array(groups)
    )


def test_a_stratum_alone_is_a_dirichlet_mixture():
    """The product of all bets is the marginal likelihood of the counts over the multinomial's."""
    law, kappa = LAWS[0], 3 * STRENGTHS[0]
    cell = np.random.default_rng(0).choice(3, size=(40, 1), p=[0.2, 0.2, 0.6])
    bets = WordCells([law], 0.0)
    told = bets.log_values(bets.no_counts(), Words(stratum=np.zeros_like(cell), cell=cell), completions([1] * 40))
    counts = np.bincount(cell[:, 0], minlength=3)
    marginal = gammaln(kappa) - gammaln(kappa + 40) + (gammaln(kappa * law + counts) - gammaln(kappa * law)).sum()
    assert told.log_values[:, 0].sum() == pytest.approx(marginal - counts @ np.log(law))
    np.testing.assert_array_equal(told.counts[0], counts)


def test_words_of_one_group_are_averaged_and_teach_nothing_to_each_other():
    stratum = np.array([[0, 1], [0, 1], [0, 0], [1, 1]])
    cell = np.array([[0, 1], [2, 1], [0, 0], [0, -1]])
    bets = WordCells(LAWS, 0.0)
    told = bets.log_values(bets.no_counts(), Words(stratum=stratum, cell=cell), completions([2, 1, 1]))
    counts = [np.zeros(3), np.zeros(2)]
    for group, rows in enumerate(([0, 1], [2], [3])):
        for j, strength in enumerate(STRENGTHS):
            values = []
            for s, c in zip(stratum[rows].ravel(), cell[rows].ravel(), strict=True):
                kappa = strength * len(LAWS[s])
                seen = 0 if c < 0 else counts[s][c] / LAWS[s][c]
                values.append((seen + kappa) / (counts[s].sum() + kappa))
            assert np.exp(told.log_values[group, j]) == pytest.approx(np.mean(values))
        for s, c in zip(stratum[rows].ravel(), cell[rows].ravel(), strict=True):
            if c >= 0:
                counts[s][c] += 1
    assert [row.tolist() for row in told.counts] == [row.tolist() for row in counts]


@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_no_bet_gains_over_the_band(slack):
    law, seen = LAWS[0], [np.array([30, 1, 2])]
    bets = WordCells([law], slack)
    factors = np.exp(
        [
            bets.log_values(seen, Words(stratum=np.array([[0]]), cell=np.array([[c]])), completions([1])).log_values[0]
            for c in range(3)
        ]
    )
    for tree in factors.T:
        ranked = np.argsort(-tree)
        up = np.clip(1 / (1 + np.exp(slack)) - (law[ranked].cumsum() - law[ranked]), 0, law[ranked])
        worst = np.exp(slack) * up + np.exp(-slack) * (law[ranked] - up)
        assert worst @ tree[ranked] == pytest.approx(1)


def test_a_lost_word_costs_what_the_worst_could_have():
    seen = [np.array([30, 0, 2])]
    bets = WordCells([LAWS[0]], 0.0)
    values = [
        bets.log_values(seen, Words(stratum=np.array([[0]]), cell=np.array([[c]])), completions([1]))
        for c in (-1, 0, 1, 2)
    ]
    lost, *cells = [value.log_values[0] for value in values]
    np.testing.assert_allclose(lost, np.min(cells, axis=0))
    np.testing.assert_array_equal(values[0].counts[0], seen[0])


@pytest.mark.parametrize("slack", [0.0, 0.1])
def test_a_word_that_cannot_be_is_infinite_evidence(slack):
    bets = WordCells([[0.5, 0.5, 0.0]], slack)
    words = Words(stratum=np.zeros((3, 1), dtype=int), cell=np.array([[0], [2], [2]]))
    told = bets.log_values(bets.no_counts(), words, completions([1, 1, 1])).log_values
    assert np.isfinite(told[0]).all()
    assert np.isposinf(told[1:]).all()


@pytest.mark.parametrize(
    ("stratum", "cell", "message"),
    [
        ([[0]], [[0], [1]], "must be [R, D]"),
        ([[0], [0], [0]], [[0], [0], [0]], "words of 2 completions"),
        ([[0], [2]], [[0], [0]], "none of the 2 strata"),
        ([[0], [1]], [[0], [2]], "in no cell"),
        ([[0], [1]], [[0], [-2]], "in no cell"),
    ],
)
def test_bad_words_are_named(stratum, cell, message):
    bets = WordCells(LAWS, 0.0)
    with pytest.raises(ValueError, match=re.escape(message)):
        bets.log_values(bets.no_counts(), Words(stratum=np.array(stratum), cell=np.array(cell)), completions([1, 1]))
