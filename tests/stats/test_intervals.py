import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from specaudit.stats.intervals import excess_p, proportion_lower, proportion_upper, ratio_interval


@pytest.mark.parametrize(("events", "trials"), [(0, 50), (3, 50), (50, 50)])
def test_proportions_are_clopper_pearson(events, trials):
    expected = binomtest(events, trials).proportion_ci(0.98, method="exact")
    assert proportion_lower(events, trials, 0.01) == pytest.approx(expected.low)
    assert proportion_upper(events, trials, 0.01) == pytest.approx(expected.high)


def test_no_event_in_n_bounds_a_rate_by_seven_over_n():
    assert proportion_upper(0, 100_000, 1e-3) == pytest.approx(6.9 / 100_000, rel=2e-3)


def test_proportion_bounds_cover():
    rng = np.random.default_rng(0)
    events = rng.binomial(40, 0.07, size=2000)
    assert np.mean([proportion_upper(k, 40, 0.05) < 0.07 for k in events]) <= 131 / 2000
    assert np.mean([proportion_lower(k, 40, 0.05) > 0.07 for k in events]) <= 131 / 2000


@pytest.mark.parametrize(("events", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_no_proportion(events, trials):
    for bound in (proportion_lower, proportion_upper):
        with pytest.raises(ValueError, match="no proportion"):
            bound(events, trials, 0.01)
    with pytest.raises(ValueError, match="no proportion"):
        excess_p(1, 2, events, trials)


def test_a_level_must_be_one():
    with pytest.raises(ValueError, match="delta"):
        proportion_upper(1, 5, 0.0)
    with pytest.raises(ValueError, match="confidence"):
        ratio_interval(np.ones(20), np.ones(20), 1.0)


def test_excess_is_the_hypergeometric_tail():
    assert excess_p(6, 10, 3, 30) == pytest.approx(hypergeom.sf(5, 40, 9, 10))
    assert excess_p(0, 10, 3, 30) == pytest.approx(1)
    assert excess_p(0, 10, 0, 30) == 1
    assert excess_p(100, 100, 0, 100) < 1e-50


def clustered(rng, windows):
    """Accepted tokens and drafts of windows whose acceptance wanders from window to window about .7."""
    drafts = rng.integers(50, 150, size=windows)
    return rng.binomial(drafts, rng.beta(14, 6, size=windows)), drafts


def test_ratio_interval_covers_although_steps_of_a_window_agree():
    rng = np.random.default_rng(1)
    intervals = [ratio_interval(*clustered(rng, 25), 0.95) for _ in range(2000)]
    misses = sum(not interval.low <= 0.7 <= interval.high for interval in intervals)
    assert misses <= 131
    naive = [2 * 1.96 * np.sqrt(0.7 * 0.3 / 2500) for _ in intervals]
    assert np.mean([interval.high - interval.low for interval in intervals]) > 1.5 * np.mean(naive)


def test_ratio_is_pooled_not_the_mean_of_ratios():
    interval = ratio_interval([1] * 19 + [0], [1] * 19 + [81], 0.95)
    assert interval.value == pytest.approx(0.19)
    assert interval.windows == 20


def test_equal_windows_leave_no_doubt():
    interval = ratio_interval(np.full(20, 3), np.full(20, 4), 0.99)
    assert (interval.low, interval.value, interval.high) == (0.75, 0.75, 0.75)


def test_few_windows_give_no_interval():
    with pytest.raises(ValueError, match="19 windows are too few"):
        ratio_interval(np.ones(19), np.ones(19), 0.95)


@pytest.mark.parametrize(
    ("numerators", "denominators", "message"),
    [
        (np.ones(20), np.ones(21), "shapes"),
        (np.ones((20, 2)), np.ones((20, 2)), "shapes"),
        (np.full(20, np.nan), np.ones(20), "not finite"),
        (np.ones(20), np.zeros(20), "all zero"),
        (np.ones(20), np.r_[np.ones(19), -1], "negative"),
    ],
)
def test_bad_windows_are_named(numerators, denominators, message):
    with pytest.raises(ValueError, match=message):
        ratio_interval(numerators, denominators, 0.95)
