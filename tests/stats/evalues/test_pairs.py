import re
from itertools import product

import numpy as np
import pytest

from specaudit.stats.evalues.pairs import SHRINKAGE, PairProcess

LAW = np.random.default_rng(0).dirichlet(np.ones(16))
CELLS = {"rank": 16, "top-1 of the draft": 2}


def arm(rng, law, pairs):
    """Draws in both partitions: the rank bin, and whether it is the first."""
    rank = rng.choice(16, size=pairs, p=law)
    return np.stack([rank, (rank == 0).astype(int)], axis=1)


def test_a_pair_is_judged_by_what_came_before_it():
    rng = np.random.default_rng(1)
    x, y = arm(rng, LAW, 30), arm(rng, LAW[::-1], 30)
    process = PairProcess(CELLS)
    process.fold(x, y)
    wealth = np.ones((2, len(SHRINKAGE)))
    for k, size in enumerate(CELLS.values()):
        counts = np.zeros((2, size))
        for a, b in zip(x[:, k], y[:, k], strict=True):
            for j, kappa in enumerate(SHRINKAGE):
                pooled = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * size)
                one, two = ((row + kappa * pooled) / (row.sum() + kappa) for row in counts)
                wealth[k, j] *= one[a] * two[b] / ((one[a] + two[a]) / 2 * (one[b] + two[b]) / 2)
            counts[0, a] += 1
            counts[1, b] += 1
    assert np.exp(process.log_e) == pytest.approx(wealth.mean())


def test_under_any_common_law_the_mean_is_at_most_one():
    rng = np.random.default_rng(2)
    first = arm(rng, LAW, 40), arm(rng, np.roll(LAW, 3), 40)
    for law in ([0.5, 0.5], [0.9, 0.1], [0.01, 0.99]):
        mean = 0.0
        for a, b in product(range(2), repeat=2):
            process = PairProcess({"one": 2})
            process.fold(first[0][:, 1:], first[1][:, 1:])
            before = np.exp(process.log_e)
            process.fold(np.array([[a]]), np.array([[b]]))
            mean += law[a] * law[b] * np.exp(process.log_e) / before
        assert mean <= 1 + 1e-12


def test_equal_arms_give_few_alarms():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(2000):
        process = PairProcess(CELLS)
        process.fold(arm(rng, LAW, 150), arm(rng, LAW, 150))
        alarms += process.rejected_at(0.05) is not None
    assert alarms <= 131


def test_different_arms_are_told_apart():
    rng = np.random.default_rng(4)
    process = PairProcess(CELLS)
    process.fold(arm(rng, LAW, 3000), arm(rng, 0.7 * LAW + 0.3 / 16, 3000))
    assert process.rejected_at(1e-3) is not None
    assert process.value().leader.startswith("rank")


def test_however_the_pairs_are_cut_the_results_are_the_same():
    rng = np.random.default_rng(5)
    x, y = arm(rng, LAW, 200), arm(rng, LAW, 200)
    at_once, piecemeal = PairProcess(CELLS), PairProcess(CELLS)
    at_once.fold(x, y)
    for part in np.array_split(np.arange(200), 7):
        piecemeal.fold(x[part], y[part])
    np.testing.assert_array_equal(at_once.path, piecemeal.path)


@pytest.mark.parametrize(
    ("cells", "message"),
    [({}, "at least one partition"), ({"a": 1}, "'a' has 1 cells"), ({"a": 2, "b": 17}, "'b' has 17 cells")],
)
def test_bad_partitions_are_named(cells, message):
    with pytest.raises(ValueError, match=message):
        PairProcess(cells)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((0, 2), int), np.zeros((0, 2), int), "no pair"),
        (np.zeros((3, 2), int), np.zeros((2, 2), int), "must be [N, 2]"),
        (np.zeros((3, 1), int), np.zeros((3, 1), int), "must be [N, 2]"),
        (np.zeros(3, int), np.zeros(3, int), "must be [N, 2]"),
        ([[0, 2]], [[0, 0]], "draw of the subject"),
        ([[0, 0]], [[-1, 0]], "draw of the reference"),
    ],
)
def test_bad_pairs_are_named(x, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        PairProcess(CELLS).fold(np.array(x), np.array(y))
