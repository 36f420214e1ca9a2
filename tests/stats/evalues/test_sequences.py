"""Pairs of sequences: fair under every common law, the same however they are cut, and quick where chains differ."""

from itertools import product

import numpy as np
import pytest

from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.sequences import SHRINKAGE, SequencePairs

CHAIN = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5], [0.4, 0.4, 0.2]])
"""By the state before; the last row begins."""
OTHER = np.roll(CHAIN, 1, axis=1)


def sequences(rng, chain, count, length=6):
    """Sequences of a chain `[count, length]`."""
    rows, cumulative = np.empty((count, length), dtype=np.int64), chain.cumsum(axis=1)[:, :-1]
    before = np.full(count, len(chain) - 1)
    for place in range(length):
        before = rows[:, place] = (cumulative[before] < rng.random((count, 1))).sum(axis=1)
    return rows


def test_under_any_common_law_the_mean_is_at_most_one_be_it_a_chain_or_not():
    rng = np.random.default_rng(0)
    learnt = sequences(rng, CHAIN, 64, 2), sequences(rng, OTHER, 64, 2)
    words = np.array(list(product(range(3), repeat=2)))
    for law in (np.full(9, 1 / 9), rng.dirichlet(np.full(9, 0.2)), np.eye(9)[4]):
        mean = np.zeros(len(SHRINKAGE))
        for one, other in product(range(9), repeat=2):
            bets = SequencePairs(3)
            bets.fold(*learnt)
            mean += law[one] * law[other] * np.exp(bets.fold(words[[one]], words[[other]])[0])
        assert (mean <= 1 + 1e-12).all()


def test_the_first_pairs_and_equal_histories_earn_nothing():
    rng = np.random.default_rng(1)
    rows = sequences(rng, CHAIN, 200)
    np.testing.assert_allclose(SequencePairs(3).fold(rows, rows[::-1])[:8], 0, atol=1e-12)
    assert (SequencePairs(3).fold(rows, rows) <= 1e-12).all()


def test_however_pairs_are_cut_the_values_are_the_same():
    rng = np.random.default_rng(2)
    ours, theirs = sequences(rng, CHAIN, 300), sequences(rng, OTHER, 300)
    piecemeal = SequencePairs(3)
    parts = [piecemeal.fold(ours[part], theirs[part]) for part in np.array_split(np.arange(300), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), SequencePairs(3).fold(ours, theirs))


def test_equal_arms_give_few_alarms():
    """Of 400 audits at .05 more than 35 alarms have a probability below 1e-3."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(400):
        bets = SequencePairs(3)
        process = PairProcess({"first": 3}, others=bets.names)
        arms = sequences(rng, CHAIN, 100), sequences(rng, CHAIN, 100)
        process.fold(*(arm[:, :1] for arm in arms), others=bets.fold(*arms))
        alarms += process.rejected_at(0.05) is not None
    assert 0 < alarms <= 35


def test_chains_that_differ_are_told_apart_long_before_any_place_of_theirs():
    rng = np.random.default_rng(4)
    ours, theirs = sequences(rng, 0.7 * CHAIN + 0.3 * OTHER, 2000), sequences(rng, CHAIN, 2000)
    bets = SequencePairs(3)
    whole = PairProcess({"second": 3}, others=bets.names)
    whole.fold(ours[:, 1:2], theirs[:, 1:2], others=bets.fold(ours, theirs))
    places = PairProcess({"second": 3})
    places.fold(ours[:, 1:2], theirs[:, 1:2])
    assert 3 * whole.rejected_at(1e-3) < (places.rejected_at(1e-3) or 2000)
    assert whole.value().leader.startswith("all tokens")


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (np.zeros((2, 3), np.int64), np.zeros((2, 4), np.int64), r"both arms must be \[N, T\]"),
        (np.zeros((2, 3), np.int64), np.full((2, 3), 3), "outside 0 … 2"),
        (np.full((2, 3), -1), np.zeros((2, 3), np.int64), "outside 0 … 2"),
    ],
)
def test_nonsense_is_refused(ours, theirs, message):
    with pytest.raises(ValueError, match=message):
        SequencePairs(3).fold(ours, theirs)


def test_one_state_is_no_sequence():
    with pytest.raises(ValueError, match="cannot differ"):
        SequencePairs(1)


def test_bets_made_elsewhere_must_be_those_that_were_named():
    cells = np.zeros((4, 1), np.int64)
    for others in (None, np.zeros((4, 1)), np.zeros((3, 2))):
        with pytest.raises(ValueError, match="2 other bets"):
            PairProcess({"one": 2}, others=("a", "b")).fold(cells, cells, others=others)
