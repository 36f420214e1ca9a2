"""Speed-ups from runs that take turns, on a virtual clock with drift and noise that lasts."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import t as student

from specaudit.stats.intervals import paired_ratio

RUNS, QUADS, STEPS = 500, 8, 60
SPEED_UP = 1.8
CONFIDENCE = 0.95
NOISE = 0.10
"""Standard deviation of a step's time (AR(1))."""
SHORT, LONG = 0.98, 0.9995
"""How much of its noise the next step has: it lasts as long as a block, or eight quads, as heat and neighbours do."""
DRIFT = 0.3
"""By how much everything has become slower at the end."""

ABBA = np.tile([1, 0, 0, 1, 0, 1, 1, 0], QUADS // 2).astype(bool)
"""Whether a block is the subject's."""


def block_times(order, seed, lasting):
    """Seconds `[RUNS, blocks]` of blocks that stand one behind the other on one clock."""
    rng = np.random.default_rng(seed)
    shocks = rng.normal(0, NOISE * np.sqrt(1 - lasting**2), (RUNS, len(order) * STEPS))
    shocks[:, 0] /= np.sqrt(1 - lasting**2)
    noise = lfilter([1], [1, -lasting], shocks, axis=1)
    slower = 1 + DRIFT * np.linspace(0, 1, shocks.shape[1])
    steps = slower * np.exp(noise) / np.where(np.repeat(order, STEPS), SPEED_UP, 1.0)
    return steps.reshape(RUNS, len(order), STEPS).sum(axis=2)


def in_turns(seed, lasting=LONG):
    """Intervals of quads `[RUNS, 2]`."""
    times = block_times(ABBA, seed, lasting).reshape(RUNS, QUADS, 4)
    subject = ABBA.reshape(QUADS, 4)
    intervals = [
        paired_ratio(
            (run * ~subject).sum(axis=1),
            (run * subject).sum(axis=1),
            CONFIDENCE,
        )
        for run in times
    ]
    return np.array([(one.low, one.high) for one in intervals])


def one_behind_the_other(seed, lasting=LONG):
    """Intervals of as many blocks, first all of the reference, then all of the subject (Welch's, of logarithms)."""
    half = 2 * QUADS
    logs = np.log(block_times(np.repeat([False, True], half), seed, lasting))
    base, treated = logs[:, :half], logs[:, half:]
    centre = base.mean(axis=1) - treated.mean(axis=1)
    parts = base.var(axis=1, ddof=1) / half, treated.var(axis=1, ddof=1) / half
    freedom = sum(parts) ** 2 / (sum(part**2 for part in parts) / (half - 1))
    wide = student.ppf((1 + CONFIDENCE) / 2, freedom) * np.sqrt(sum(parts))
    return np.exp(np.stack([centre - wide, centre + wide], axis=1))


def covered(intervals):
    return int(((intervals[:, 0] <= SPEED_UP) & (intervals[:, 1] >= SPEED_UP)).sum())


@pytest.mark.parametrize("lasting", [SHORT, LONG])
def test_the_interval_covers_the_true_speed_up_at_the_nominal_rate(lasting):
    # 475 of 500 expected; a binomial law is below 458 or above 490 with a probability of 0.1 % each.
    assert 458 <= covered(in_turns(0, lasting)) <= 490


def test_it_is_at_most_half_as_wide_as_that_of_runs_that_do_not_take_turns():
    turns, apart = (np.log(one[:, 1] / one[:, 0]) for one in (in_turns(1), one_behind_the_other(1)))
    assert np.median(turns) <= 0.5 * np.median(apart)


def test_runs_that_do_not_take_turns_take_drift_for_a_slow_down():
    assert covered(one_behind_the_other(2)) < 100


@pytest.mark.parametrize("place", [0, 1])
def test_without_a_speed_up_none_is_found_more_often_than_said(place, monkeypatch):
    monkeypatch.setitem(globals(), "SPEED_UP", 1.0)
    missed = (in_turns(3)[:, place] > 1) if place == 0 else (in_turns(3)[:, place] < 1)
    assert missed.sum() <= 25
