import numpy as np
import pytest
from scipy.stats import binom, binomtest, hypergeom, norm, t

from specaudit.stats.intervals import (
    blocks_needed,
    excess_p,
    overlatency_allowed,
    paired_ratio,
    percentile_upper,
    proportion_lower,
    proportion_upper,
    queries_needed,
    ratio_interval,
)


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


def test_paired_ratio_is_the_interval_of_the_mean_log_ratio():
    base, treated = np.array([2.0, 4.1, 3.0]), np.array([1.0, 2.0, 1.6])
    logs = np.log(base / treated)
    half = t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3)
    interval = paired_ratio(base, treated, 0.95)
    assert interval.value == pytest.approx(np.exp(logs.mean()))
    assert (interval.low, interval.high) == (
        pytest.approx(np.exp(logs.mean() - half)),
        pytest.approx(np.exp(logs.mean() + half)),
    )
    assert interval.windows == 3


def test_swapping_the_arms_inverts_the_interval():
    base, treated = np.array([2.0, 4.1, 3.0]), np.array([1.0, 2.0, 1.6])
    one, other = paired_ratio(base, treated, 0.95), paired_ratio(treated, base, 0.95)
    assert (other.low, other.value, other.high) == pytest.approx((1 / one.high, 1 / one.value, 1 / one.low))


def block_times(rng, blocks, speed_up, spread):
    """Times of both arms in blocks whose load differs, and that agree in their ratio up to the spread."""
    load = rng.lognormal(0, 0.5, size=blocks)
    return load * speed_up * rng.lognormal(0, spread, size=blocks), load


def test_paired_ratio_covers_although_blocks_differ_in_load():
    rng = np.random.default_rng(2)
    intervals = [paired_ratio(*block_times(rng, 8, 1.7, 0.05), 0.95) for _ in range(2000)]
    assert 69 <= sum(not interval.low <= 1.7 <= interval.high for interval in intervals) <= 131


def test_that_many_blocks_see_the_gain():
    spread = 0.2
    blocks = blocks_needed(spread, 0.05, confidence=0.95, power=0.8)
    rng = np.random.default_rng(3)
    intervals = [paired_ratio(*block_times(rng, blocks, 1.05, spread), 0.95) for _ in range(2000)]
    assert np.mean([interval.low > 1 for interval in intervals]) == pytest.approx(0.8, abs=0.03)

    def needed(given):
        return ((t.ppf(0.975, given - 1) + norm.ppf(0.8)) * spread / np.log(1.05)) ** 2

    assert needed(blocks) <= blocks
    assert needed(blocks - 1) > blocks - 1
    assert blocks_needed(0.0, 0.05, confidence=0.95, power=0.8) == 2


@pytest.mark.parametrize(
    ("base", "treated", "message"),
    [
        ([1.0], [1.0], "1 blocks"),
        ([1.0, 2.0], [1.0], "shapes"),
        ([1.0, 0.0], [1.0, 1.0], "positive and finite"),
        ([1.0, np.nan], [1.0, 1.0], "positive and finite"),
        ([1.0, 1.0], [1.0, np.inf], "positive and finite"),
    ],
)
def test_bad_blocks_are_named(base, treated, message):
    with pytest.raises(ValueError, match=message):
        paired_ratio(base, treated, 0.95)


@pytest.mark.parametrize(("percentile", "fewest"), [(0.9, (44, 64)), (0.99, (459, 662))])
def test_queries_that_the_mlperf_rules_ask_for(percentile, fewest):
    for overlatency, queries in enumerate(fewest):
        assert queries_needed(overlatency, percentile) == queries
        assert overlatency_allowed(queries, percentile) == overlatency
        assert overlatency_allowed(queries - 1, percentile) == (overlatency - 1 if overlatency else None)


@pytest.mark.parametrize("queries", [500, 24_576])
def test_overlatency_is_the_binomial_test(queries):
    allowed = overlatency_allowed(queries, 0.97, confidence=0.999)
    assert binom.cdf(allowed, queries, 0.03) <= 0.001 < binom.cdf(allowed + 1, queries, 0.03)
    assert queries_needed(allowed, 0.97, confidence=0.999) <= queries
    assert queries_needed(allowed + 1, 0.97, confidence=0.999) > queries


def test_percentile_bound_covers():
    rng = np.random.default_rng(4)
    truth = np.log(10)  # of the unit exponential's 90th percentile
    bounds = [percentile_upper(rng.exponential(size=200), 0.9, confidence=0.95) for _ in range(2000)]
    missed = sum(bound < truth for bound in bounds)
    exact = binom.cdf(overlatency_allowed(200, 0.9, confidence=0.95), 200, 0.1)
    assert missed / 2000 == pytest.approx(exact, abs=3.3 * np.sqrt(exact * (1 - exact) / 2000))
    assert missed <= 131


def test_percentile_bound_is_the_latency_behind_those_allowed():
    latencies = np.arange(64.0)
    assert percentile_upper(latencies, 0.9) == 62
    assert percentile_upper(latencies[:44], 0.9) == 43
    assert percentile_upper(latencies[:43], 0.9) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: blocks_needed(np.nan, 0.05, confidence=0.95, power=0.8),
        lambda: blocks_needed(0.1, 0.0, confidence=0.95, power=0.8),
        lambda: blocks_needed(0.1, 0.05, confidence=0.95, power=1.0),
        lambda: paired_ratio([1, 2], [1, 2], 0.0),
        lambda: overlatency_allowed(0, 0.9),
        lambda: overlatency_allowed(10, np.nan),
        lambda: queries_needed(-1, 0.9),
        lambda: queries_needed(1, 0.9, confidence=1.0),
        lambda: percentile_upper([1.0, np.nan], 0.9),
        lambda: percentile_upper([], 0.9),
    ],
)
def test_plans_of_nothing_are_refused(call):
    with pytest.raises(ValueError, match=r"plan nothing|inside|no queries|cannot be|must be numbers"):
        call()
