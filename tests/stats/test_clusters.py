"""Clustered draws: the test keeps its level, the bound its coverage, and independent words cost what they should."""

import numpy as np
import pytest

from specaudit.stats.clusters import compare_clusters, design_effect
from specaudit.stats.homogeneity import homogeneity

LAW = np.array([0.5, 0.3, 0.2])


def clusters(rng, count, words=6, *, law=LAW, sticky=0.0):
    """Words of completions; with probability `sticky` a word repeats the one before it. `[count, C]`."""
    draws = rng.choice(len(law), size=(count, words), p=law)
    for i in range(1, words):
        same = rng.random(count) < sticky
        draws[same, i] = draws[same, i - 1]
    return (draws[..., None] == np.arange(len(law))).sum(axis=1).astype(float)


def test_words_that_repeat_say_less_and_the_level_is_kept():
    """Of 2,000 audits at .05 more than 131 alarms have a probability below 1e-3; taken for independent they alarm."""
    rng = np.random.default_rng(0)
    alarms = naive = 0
    for _ in range(2000):
        ours, theirs = (clusters(rng, 120, sticky=0.6) for _ in range(2))
        alarms += compare_clusters([ours], [theirs]).p_value <= 0.05
        naive += homogeneity([ours.sum(axis=0).astype(int)], [theirs.sum(axis=0).astype(int)]).asymptotic_p <= 0.05
    assert alarms <= 131
    assert naive > 300


@pytest.mark.parametrize("sticky", [0.0, 0.6])
def test_the_bound_misses_a_deviation_at_the_tolerance_rarely(sticky):
    """Of 1,000 audits at .05 more than 72 misses have a probability below 1e-3."""
    rng, tolerance = np.random.default_rng(1), 0.08
    shifted = LAW + tolerance * np.array([1, -0.5, -0.5])
    missed = sum(
        compare_clusters(
            [clusters(rng, 200, law=shifted, sticky=sticky)], [clusters(rng, 200, sticky=sticky)]
        ).upper_bound(0.05)
        < tolerance
        for _ in range(1000)
    )
    assert missed <= 72


def test_a_design_effect_is_one_for_independent_words_and_the_number_of_words_for_copies():
    rng = np.random.default_rng(2)
    assert design_effect(clusters(rng, 20_000)) == pytest.approx(1, abs=0.05)
    assert design_effect(clusters(rng, 20_000, sticky=1.0)) == pytest.approx(6, abs=0.2)


def test_a_deviation_is_bounded_from_below_too():
    rng = np.random.default_rng(3)
    other = np.array([0.2, 0.3, 0.5])
    found = compare_clusters([clusters(rng, 4000, law=other)], [clusters(rng, 4000)])
    assert 0.15 < found.lower_bound(1e-3) < 0.3 < found.upper_bound(1e-3)
    assert found.p_value < 1e-6


def test_strata_count_by_their_size_and_empty_ones_are_passed_over():
    rng = np.random.default_rng(4)
    ours, theirs = clusters(rng, 300), clusters(rng, 300)
    nothing = np.empty((0, 3))
    alone = compare_clusters([ours], [theirs])
    assert compare_clusters([ours, nothing], [theirs, nothing]) == alone
    twice = compare_clusters([ours, ours], [theirs, theirs])
    assert twice.statistic == pytest.approx(2 * alone.statistic)
    assert twice.estimate == pytest.approx(alone.estimate)


def test_ill_filled_cells_have_no_bound():
    rng = np.random.default_rng(5)
    rare = np.array([0.9989, 0.001, 0.0001])
    assert compare_clusters([clusters(rng, 200, law=rare)], [clusters(rng, 200, law=rare)]).upper_bound(0.05) == 1.0


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([[4, 0]] * 9, [[0, 4]] * 9),
        ([[2, 2]] * 9, [[2, 2]] * 9),
        ([[2, 1, 1], [1, 2, 1]] * 9, [[2, 2, 0], [1, 3, 0]] * 9),
    ],
)
def test_what_no_cluster_varies_in_has_no_bound(ours, theirs):
    """Otherwise two arms that always answer differently would differ by nothing."""
    found = compare_clusters([np.array(ours)], [np.array(theirs)])
    assert found.smallest_expected == 0
    assert found.effective_size > 0


def test_one_cell_says_nothing():
    ones = np.full((10, 1), 6.0)
    found = compare_clusters([ones], [ones])
    assert (found.dof, found.statistic, found.p_value) == (0, 0.0, 1.0)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="no stratum"):
        compare_clusters([np.ones((1, 2))], [np.ones((1, 2))])
    with pytest.raises(ValueError, match="cannot be compared"):
        compare_clusters([np.ones((3, 2))], [np.ones((3, 3))])
    with pytest.raises(ValueError, match="delta"):
        compare_clusters([np.eye(2)], [np.eye(2)]).upper_bound(0)
