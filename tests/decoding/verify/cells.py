"""Exact laws of whatever draws uniforms, by cutting the cube of uniforms into boxes of constant outcome.

Nothing is known of the code under test but that its outcome changes finitely often, and comes back to no earlier
outcome, as one uniform rises while the others stand still. So equal outcomes at both ends of an edge mean a constant
outcome in between, and where the ends differ, bisection finds a cut.
"""

import numpy as np

# Boxes are looked at this far from their edges, which bisection has found to a sixteenth of it.
MARGIN = 2.0**-46
STEPS = 50


class Prescribed:
    """A uniform source that deals out given coins."""

    def __init__(self, coins):
        self.coins = coins

    def random(self, size, /):
        assert size == self.coins.shape
        return self.coins


def boxes(play, cases, draws, pieces=1):
    """Cut the unit cube of `draws` uniforms, for each of several cases, into boxes of constant outcome.

    Args:
        play: outcomes `[n, w]`, integers, of cases `[n]` under uniforms `[n, draws]`.
        cases: number of cases.
        draws: number of uniforms.
        pieces: number of equal pieces that every edge is cut into to begin with, for outcomes that do come back.

    Returns:
        Case `[m]`, volume `[m]`, outcome `[m, w]` and middle `[m, draws]` of each box.
    """
    corner = np.indices((pieces,) * draws).reshape(draws, pieces**draws).T / pieces
    case, low = np.repeat(np.arange(cases), len(corner)), np.tile(corner, (cases, 1))
    high = low + 1 / pieces
    quiet = axis = 0
    while quiet < draws:
        cut, where = _cuts(play, case, low, high, axis)
        quiet = 0 if len(cut) else quiet + 1
        case, low, high = (np.concatenate([side, side[cut]]) for side in (case, low, high))
        high[cut, axis] = where
        low[len(low) - len(cut) :, axis] = where
        axis = (axis + 1) % draws
    middle = (low + high) / 2
    outcome = play(case, middle)
    share = np.random.default_rng(0).uniform(0.001, 0.999, low.shape)
    wide = (high - low > 1e-9).all(axis=1)
    assert (play(case, low + share * (high - low)) == outcome)[wide].all()
    return case, (high - low).prod(axis=1), outcome, middle


def _cuts(play, case, low, high, axis):
    """Find boxes whose outcome changes along one axis, and a place where each does."""
    left, right = (low + high) / 2, (low + high) / 2
    left[:, axis], right[:, axis] = low[:, axis] + MARGIN, high[:, axis] - MARGIN
    start = play(case, left)
    cut = np.flatnonzero((start != play(case, right)).any(axis=1) & (left < right)[:, axis])
    case, start, point, left, right = case[cut], start[cut], left[cut], left[cut, axis], right[cut, axis]
    for _ in range(STEPS if len(cut) else 0):
        point[:, axis] = (left + right) / 2
        same = (play(case, point) == start).all(axis=1)
        left, right = np.where(same, point[:, axis], left), np.where(same, right, point[:, axis])
    return cut, right
