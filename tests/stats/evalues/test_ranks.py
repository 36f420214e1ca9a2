import numpy as np
import pytest

from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import ContextTable
from specaudit.stats.evalues.ranks import BINS, TREES, Ranks
from tests.stats.evalues.worlds import draw, table

POINTS = 200
HALVING = np.array([2.0**-15, *2.0 ** np.arange(-15, 0)])


def bin_shares(laws, subject):
    """Law of the bins `[O, 16]` when the subject's law `[C, V]` is drawn from in every context alike."""
    ranks = Ranks(laws, 0.0)
    scored = ranks.score(laws)
    entry = np.repeat(np.arange(laws.p.size), POINTS)
    bins = ranks.bins(scored, entry, np.tile((np.arange(POINTS) + 0.5) / POINTS, laws.p.size))
    weight = np.repeat(subject.ravel() / len(laws.p) / POINTS, POINTS)
    return np.stack([np.bincount(column, weight, minlength=BINS) for column in bins.T])


def test_under_the_law_bins_have_their_mass_in_every_order():
    laws = table(contexts=40, raw=True)
    shares = bin_shares(laws, laws.p)
    for order, mass in zip(shares, (1 / 16, 1 / 16, HALVING), strict=True):
        np.testing.assert_allclose(order, mass, atol=1e-3)


def test_an_order_by_p_is_blind_to_the_drafter():
    laws = table(seed=1, contexts=300, cells=64)
    faulty = alternatives.residual_from_target(laws.p, laws.q)
    shares = bin_shares(laws, faulty)
    information = (faulty * np.log(faulty / laws.p)).sum(axis=1).mean() / (shares * np.log(16 * shares)).sum(axis=1)
    assert information[0] > 50
    assert information[1] < 1.3


def test_raw_processing_shows_in_the_smallest_bins():
    laws = ContextTable(p=[[0.999, 0.001]], raw=[[0.5, 0.5]])
    shares = bin_shares(laws, laws.raw)
    assert shares[1][HALVING.cumsum() < 0.0011].sum() > 0.4


def one_by_one(ranks, mass, counts, concentrations):
    """Predicted mass over mass of each bin, by walking down the tree."""
    odds = []
    for leaf in range(BINS):
        low, high, value = 0, BINS, 1.0
        for concentration in concentrations:
            middle = (low + high) // 2
            child = (low, middle) if leaf < middle else (middle, high)
            share = mass[slice(*child)].sum() / mass[low:high].sum()
            seen, here = counts[low:high].sum(), counts[slice(*child)].sum()
            value *= (here + concentration * share) / (seen + concentration) / share
            low, high = child
        odds.append(value)
    return np.array(odds)


def test_bets_follow_the_tree_and_learn_between_groups_only():
    laws = table(raw=True)
    ranks = Ranks(laws, 0.0)
    batch = draw(laws.p, np.random.default_rng(0), 30, 4)
    bins = ranks.bins(ranks.score(laws), batch.context * 6 + batch.cell, batch.uniform)
    bins[5] = -1
    group = np.repeat(np.arange(10), 12)
    told = ranks.log_factors(ranks.no_counts(), bins, group, 10)
    counts = np.zeros((3, BINS))
    masses = [np.full(BINS, 1 / 16)] * 2 + [HALVING]
    for g in range(10):
        odds = np.stack(
            [[one_by_one(ranks, m, c, t) for t in TREES.values()] for m, c in zip(masses, counts, strict=True)]
        )
        np.testing.assert_allclose((odds * np.array(masses)[:, None]).sum(axis=2), 1)
        np.testing.assert_allclose(told.floor[g], np.log(odds.min(axis=2)).ravel())
        for token in np.flatnonzero(group == g):
            expected = np.zeros(9) if token == 5 else np.log([odds[o, :, bins[token, o]] for o in range(3)]).ravel()
            np.testing.assert_allclose(told.log_factors[token], expected, atol=1e-12)
        for token in np.flatnonzero((group == g) & (np.arange(120) != 5)):
            counts[np.arange(3), bins[token]] += 1
    np.testing.assert_array_equal(told.counts, counts.T)


def test_the_dirichlet_mixture_is_one_of_the_trees():
    ranks = Ranks(ContextTable(p=[[1.0]]), 0.0)
    bins = np.random.default_rng(0).integers(0, 5, size=(50, 1))
    told = ranks.log_factors(ranks.no_counts(), bins, np.arange(50), 50)
    logs = told.log_factors[:, list(TREES).index("Dirichlet")]
    earlier = [(bins[:t] == bins[t]).sum() for t in range(50)]
    np.testing.assert_allclose(logs, np.log((np.array(earlier) + 2) / (np.arange(50) + 32) * 16))


def test_over_the_band_no_bet_on_bins_gains():
    slack, rng = 0.2, np.random.default_rng(0)
    laws = table(raw=True)
    ranks = Ranks(laws, slack)
    counts = rng.integers(0, 100, size=(BINS, 3))
    for mass, order in ((np.full(BINS, 1 / 16), 1), (HALVING, 2)):
        bins = np.zeros((BINS, 3), dtype=int)
        bins[:, order] = np.arange(BINS)
        told = ranks.log_factors(counts, bins, np.zeros(BINS, dtype=int), 1)
        factors = np.exp(told.log_factors.reshape(BINS, 3, -1)[:, order])
        for tree in factors.T:
            ranked = np.argsort(-tree)
            up = np.clip(1 / (1 + np.exp(slack)) - (mass[ranked].cumsum() - mass[ranked]), 0, mass[ranked])
            worst = np.exp(slack) * up + np.exp(-slack) * (mass[ranked] - up)
            assert worst @ tree[ranked] == pytest.approx(1)


def test_edge_cells_have_no_place():
    edge = np.array([[False, True, False]])
    laws = ContextTable(p=[[0.5, 0.2, 0.3]], q=[[0.2, 0.2, 0.6]], edge=edge)
    scored = Ranks(laws, 0.0).score(laws)
    np.testing.assert_allclose(scored.width[:, 0], [5 / 8, 0, 3 / 8])
    np.testing.assert_allclose(scored.low[[0, 2]], [[0, 3 / 8], [5 / 8, 0]])
