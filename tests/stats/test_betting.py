import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specaudit.stats.betting import mean_interval, mean_lower_bound


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_intervals_hold_the_mean_at_all_times(mean):
    """The ends are the best so far, so the last look misses if any would: above 74 of 1,000 is below 1e-3."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(1000):
        interval = mean_interval(rng.random(250) < mean, 0.05)
        missed += not interval.low <= mean <= interval.high
    assert missed <= 74


def capital(x, m, delta):
    """Largest capital of the bet that the mean is above m, one value at a time."""
    wealth = largest = 1.0
    total = squares = 0.0
    for t, value in enumerate(x, start=1):
        stake = np.sqrt(2 * np.log(1 / delta) / ((0.25 + squares) / t * t * np.log(1 + t)))
        wealth *= 1 + min(stake, 0.5 / m) * (value - m)
        largest = max(largest, wealth)
        total += value
        squares += (value - (0.5 + total) / (t + 1)) ** 2
    return largest


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1)), st.floats(0.001, 0.5))
def test_the_bound_is_where_the_capital_reaches_one_over_delta(x, delta):
    bound = mean_lower_bound(x, delta)
    assert capital(x, min(bound + 1e-6, 1), delta) < 1 / delta * (1 + 1e-6)
    if bound > 1e-3:
        assert capital(x, bound - 1e-6, delta) >= 1 / delta * (1 - 1e-6)


def test_little_variance_is_rewarded():
    rng = np.random.default_rng(1)
    narrow, wide = 0.5 + 0.02 * rng.standard_normal(2000).clip(-4, 4), (rng.random(2000) < 0.5).astype(float)
    lengths = [interval.high - interval.low for interval in (mean_interval(narrow, 0.01), mean_interval(wide, 0.01))]
    assert lengths[0] < 0.02 < lengths[1] < 0.13


def test_intervals_only_shrink():
    x = (np.random.default_rng(2).random(600) < 0.3).astype(float)
    intervals = [mean_interval(x[:n], 0.05) for n in range(50, 601, 50)]
    assert (np.diff([interval.low for interval in intervals]) >= -1e-12).all()
    assert (np.diff([interval.high for interval in intervals]) <= 1e-12).all()


def test_sides_are_mirror_images():
    x = np.random.default_rng(3).random(200)
    here, there = mean_interval(x, 0.05), mean_interval(1 - x, 0.05)
    assert (here.low, here.high) == pytest.approx((1 - there.high, 1 - there.low))
    assert (here.estimate, here.size) == (pytest.approx(x.mean()), 200)


def test_corners():
    assert mean_lower_bound([1.0], 0.01) == 0
    assert mean_lower_bound(np.ones(2000), 0.01) > 0.98
    assert mean_interval(np.zeros(2000), 0.01).high < 0.02
    assert mean_interval(np.full(50, 0.5), 0.01).low < 0.5


@pytest.mark.parametrize("values", [[], [[0.5]], [0.5, 1.1], [-0.1], [np.nan]])
def test_bad_values_are_named(values):
    with pytest.raises(ValueError, match=r"values"):
        mean_interval(values, 0.05)


@pytest.mark.parametrize("delta", [0.0, 2.0, np.nan])
def test_bad_levels_are_named(delta):
    with pytest.raises(ValueError, match="delta"):
        mean_interval([0.5], delta)
