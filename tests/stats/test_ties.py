import numpy as np
import pytest
from scipy.stats import binomtest

from specaudit.stats.ties import LIMITS, Divergence, FlipFloor, flip_floor, triage

AUDITS = 2_000
MOST_ALARMS = 131
"""At α = .05: 100 expected, 3.2 standard deviations above."""
RATES = np.array([0.3, 0.1, 0.03, 0.01, 0.001, 0.0001])
"""Flip rates of plain decoding in the bins of the margin."""


def decode(rng, positions, rates=RATES):
    """Gaps and margins of a greedy arm that flips at those rates, gaps being the margins of the flipped positions."""
    margins = rng.exponential(0.7, size=positions)
    bins = np.searchsorted(LIMITS, margins)
    flips = rng.random(positions) < np.r_[rates, 0.0][bins]
    return np.where(flips, margins, 0.0), margins


def test_flips_are_counted_by_the_margin_of_their_position():
    margins = [0.0, 0.01, 0.02, 0.5, 2.0, 2.1, 0.0]
    gaps = [0.0, 0.01, 0.0, 1.5, 2.0, 0.0, 0.3]
    floor = flip_floor(gaps, margins)
    assert floor.flips.tolist() == [2, 0, 0, 0, 1, 1]
    assert floor.trials.tolist() == [3, 1, 0, 0, 1, 1]


def test_floor_bounds_are_clopper_pearsons_for_all_bins_together():
    floor = FlipFloor(limits=(0.1, 1.0, 2.0), flips=np.array([3, 0, 5]), trials=np.array([50, 0, 5]))
    expected = binomtest(3, 50).proportion_ci(1 - 2 * 0.05 / 3, method="exact").high
    assert floor.upper(0.05) == pytest.approx([expected, 1, 1])


def test_a_gap_beyond_the_last_limit_is_hard_wherever_the_margin_lies():
    floor = flip_floor(*decode(np.random.default_rng(0), 10_000))
    result = triage([0, 2.0, 2.001, 0, np.inf], [1, 2.0, 0.5, 3, 2.5], [floor], 0.05)
    assert (result.kind, result.hard.tolist()) == (Divergence.HARD, [2, 4])
    assert triage([0, 2.0], [1, 2.0], [floor], 0.05).kind is Divergence.NUMERIC


def test_exact_ties_are_no_flips():
    floor = FlipFloor(limits=LIMITS, flips=np.zeros(6, dtype=int), trials=np.full(6, 10_000))
    result = triage(np.zeros(1000), np.zeros(1000), [floor], 0.05)
    assert (result.kind, result.flips.sum(), result.trials[0]) == (Divergence.NUMERIC, 0, 1000)


def soft(rng, floor_positions, positions, rates, alpha=0.05):
    """How many of the audits find a soft excess."""
    found = 0
    for _ in range(AUDITS):
        floor = flip_floor(*decode(rng, floor_positions))
        found += triage(*decode(rng, positions, rates), [floor], alpha).kind is Divergence.SOFT
    return found


def test_flips_as_in_the_floor_are_seldom_called_soft():
    assert soft(np.random.default_rng(1), 2_000, 300, RATES) <= MOST_ALARMS


def test_the_process_keeps_its_level_at_the_bound_itself():
    rng = np.random.default_rng(2)
    trials = np.full(6, 10**12)
    floor = FlipFloor(limits=LIMITS, flips=np.rint(RATES * trials).astype(int), trials=trials)
    assert floor.upper(0.05) == pytest.approx(RATES, rel=1e-2)
    results = [triage(*decode(rng, 300), [floor], 0.1) for _ in range(AUDITS)]
    alarms = sum(result.e_value >= 20 for result in results)
    assert 0 < alarms <= MOST_ALARMS


def test_three_times_as_many_flips_are_soft_whether_in_all_bins_or_in_one():
    rng = np.random.default_rng(3)
    floor = flip_floor(*decode(rng, 50_000))
    for rates in (np.minimum(3 * RATES, 0.6), np.r_[RATES[:4], 0.02, 0.02]):
        result = triage(*decode(rng, 5_000, rates), [floor], 0.001)
        assert result.kind is Divergence.SOFT
        assert result.p_value <= 0.001


def test_the_value_is_the_largest_in_the_order_of_the_plan():
    floor = flip_floor(*decode(np.random.default_rng(4), 50_000))
    burst = np.r_[np.full(20, 0.5), np.zeros(100_000)]
    margins = np.full(len(burst), 0.5)
    early = triage(burst, margins, [floor], 0.01)
    late = triage(burst[::-1], margins, [floor], 0.01)
    assert early.kind is Divergence.SOFT
    assert late.kind is Divergence.NUMERIC
    assert early.e_value == triage(burst[:20], margins[:20], [floor], 0.01).e_value


def test_wealth_multiplies_over_bins():
    floor = FlipFloor(limits=(0.1, 1.0), flips=np.array([10, 1]), trials=np.array([1000, 1000]))
    one = triage(np.full(3, 0.05), np.full(3, 0.05), [floor], 0.05).e_value
    other = triage(np.full(3, 0.5), np.full(3, 0.5), [floor], 0.05).e_value
    both = triage(np.tile([0.05, 0.5], 3), np.tile([0.05, 0.5], 3), [floor], 0.05).e_value
    assert both == pytest.approx(one * other)


def test_no_floor_and_no_positions_decide_nothing():
    empty = flip_floor([], [])
    assert triage(*decode(np.random.default_rng(5), 1000, np.ones(6)), [empty], 0.05).e_value == 1
    nothing = triage([], [], [flip_floor(*decode(np.random.default_rng(6), 1000))], 0.05)
    assert (nothing.kind, nothing.e_value, nothing.p_value) == (Divergence.NUMERIC, 1, 1)


@pytest.mark.parametrize(
    ("gaps", "margins", "limits", "message"),
    [
        ([np.nan], [0.1], LIMITS, "0 or positive"),
        ([0.1], [-0.1], LIMITS, "0 or positive"),
        ([0.1, 0.2], [0.1], LIMITS, "its gap and its margin"),
        ([0.1], [0.1], (), "ascend"),
        ([0.1], [0.1], (1.0, 0.5), "ascend"),
        ([0.1], [0.1], (np.nan,), "ascend"),
    ],
)
def test_bad_positions_and_limits_are_named(gaps, margins, limits, message):
    with pytest.raises(ValueError, match=message):
        flip_floor(gaps, margins, limits)


def test_a_level_must_be_one():
    with pytest.raises(ValueError, match="delta"):
        triage([0.0], [0.1], [flip_floor([0.0], [0.1])], 0.0)


def test_of_several_floors_the_highest_bound_of_each_bin_counts():
    low, high = (FlipFloor(limits=LIMITS, flips=np.full(6, flips), trials=np.full(6, 1000)) for flips in (0, 100))
    mixed = FlipFloor(limits=LIMITS, flips=np.array([100, 0, 0, 0, 0, 0]), trials=np.full(6, 1000))
    allowed = triage([0.0], [0.1], [low, mixed], 0.05).allowed
    assert allowed[0] == high.upper(0.0125)[0]
    assert allowed[1:] == pytest.approx(low.upper(0.0125)[1:])


@pytest.mark.parametrize("floors", [[], [flip_floor([], []), flip_floor([], [], limits=(1.0,))]])
def test_floors_that_do_not_fit_together_are_refused(floors):
    with pytest.raises(ValueError, match="same limits"):
        triage([0.0], [0.1], floors, 0.05)
