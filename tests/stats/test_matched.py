"""Draws side by side in the same contexts: the level is kept, the bound holds, and contexts that tell much pay."""

import numpy as np
import pytest

from specaudit.stats.matched import compare_matched

LAWS = np.random.default_rng(0).dirichlet(np.full(6, 0.7), 12)
"""Of six cells in twelve contexts."""
TOLERANCE = 0.08


def shifted(share):
    """The laws with a share of the first cell moved to the second, in every context."""
    moved = np.zeros_like(LAWS)
    moved[:, 0], moved[:, 1] = -LAWS[:, 0], LAWS[:, 0]
    return LAWS + share * moved


def draw(rng, laws, context):
    return (laws.cumsum(axis=1)[context, :-1] < rng.random((len(context), 1))).sum(axis=1)


def compared(rng, laws, pairs):
    context = rng.integers(len(LAWS), size=pairs)
    return compare_matched(draw(rng, laws, context), draw(rng, LAWS, context), 6)


def test_the_level_is_kept():
    """Of 2,000 audits at .05 more than 131 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(1)
    assert 0 < sum(compared(rng, LAWS, 1000).p_value <= 0.05 for _ in range(2000)) <= 131


@pytest.mark.parametrize("spread", [False, True])
def test_a_deviation_at_the_tolerance_is_hardly_ever_bounded_below_it(spread):
    """Of 1,000 audits at .05 more than 72 misses have a probability below 1e-3."""
    rng = np.random.default_rng(2)
    laws = shifted(TOLERANCE / LAWS[:, 0].mean())
    if spread:
        sign = np.where(np.arange(6) % 2, 1.0, -1.0)
        up, down = ((LAWS * (sign == side)).sum(axis=1, keepdims=True) for side in (1, -1))
        least = np.minimum(up, down)
        laws = LAWS * (1 + TOLERANCE / least.mean() * least * np.where(sign > 0, 1 / up, -1 / down))
    assert np.abs((laws - LAWS).mean(axis=0)).sum() / 2 == pytest.approx(TOLERANCE)
    assert sum(compared(rng, laws, 400).upper_bound(0.05) < TOLERANCE for _ in range(1000)) <= 72


def test_contexts_that_tell_their_token_make_pairs_say_more():
    rng = np.random.default_rng(3)
    sure = np.full((2, 2), 0.02)
    sure[[0, 1], [0, 1]] = 0.98
    context = rng.integers(2, size=4000)
    arms = draw(rng, sure, context), draw(rng, sure, context)
    found = compare_matched(*arms, 2)
    assert found.design_effect == pytest.approx(0.08, abs=0.02)
    # The same draws taken for two samples are not told from what is far more different.
    apart = compare_matched(arms[0], rng.permutation(arms[1]), 2)
    assert found.upper_bound(1e-3) < apart.upper_bound(1e-3) / 2


def test_what_no_pair_varies_in_has_no_bound():
    """Otherwise two arms that always answer differently would differ by nothing."""
    assert compare_matched(np.zeros(40, int), np.ones(40, int), 2).upper_bound(0.05) == 1


def test_one_cell_says_nothing_and_rare_cells_have_no_bound():
    assert compare_matched(np.zeros(9, int), np.zeros(9, int), 3).dof == 0
    rare = np.zeros(500, int)
    rare[:2] = 1
    assert compare_matched(rare, np.roll(rare, 100), 2).upper_bound(0.05) == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([0], [0], "at least 2"),
        ([0, 1], [0, 1, 1], "matched draws"),
        ([0, 3], [0, 1], "none of 3"),
        ([0, -1], [0, 1], "none of 3"),
    ],
)
def test_nonsense_is_refused(ours, theirs, message):
    with pytest.raises(ValueError, match=message):
        compare_matched(ours, theirs, 3)
