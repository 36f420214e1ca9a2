import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.stats.budget import anytime_p, combined_p, holm, look_level, split

AUDITS = 2_000
MOST_ALARMS = 131


def test_holm_steps_down():
    result = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}, alpha=0.05)
    assert result.adjusted == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert result.rejected == {"a", "d"}
    assert list(result.adjusted) == ["a", "b", "c", "d"]


def test_a_planned_check_without_a_p_value_still_counts():
    assert holm({"a": 0.02}, alpha=0.05).adjusted["a"] == 0.02
    result = holm({"a": 0.02, "b": None, "c": None}, alpha=0.05)
    assert result.adjusted == pytest.approx({"a": 0.06, "b": 1, "c": 1})
    assert not result.rejected


@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=8), alpha=st.floats(0.001, 0.5))
def test_adjusted_p_values_reject_what_the_steps_reject(p_values, alpha):
    m, steps = len(p_values), set()
    for k, index in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[index] * (m - k) > alpha:
            break
        steps.add(str(index))
    assert holm({str(i): p for i, p in enumerate(p_values)}, alpha).rejected == steps


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_holm_keeps_its_level_over_anytime_p_values_of_dependent_checks(correlation):
    rng = np.random.default_rng(0)
    # Four likelihood-ratio martingales that bet on a drift of half a standard deviation; the fifth check is at fault.
    common = rng.standard_normal((AUDITS, 60, 1))
    own = rng.standard_normal((AUDITS, 60, 5))
    noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own + np.array([0, 0, 0, 0, 1])
    log_e = np.maximum(0, (0.5 * noise - 0.125).cumsum(axis=1)).max(axis=1)
    alarms = seen = 0
    for row in log_e:
        rejected = holm({str(i): anytime_p(e) for i, e in enumerate(np.exp(row))}, 0.05).rejected
        alarms += bool(rejected - {"4"})
        seen += "4" in rejected
    assert alarms <= MOST_ALARMS
    assert seen > 0.95 * AUDITS


def test_an_anytime_p_value_is_the_inverse_of_the_largest_e_value():
    assert [anytime_p(e) for e in (20.0, 1.0, 0.1, 0.0, np.inf)] == [0.05, 1, 1, 1, 0]


def test_several_tests_of_one_null_share_its_level():
    assert combined_p({"e": 0.01, "chi-square": 0.2}) == pytest.approx(0.02)
    assert combined_p({"e": 0.01, "chi-square": 0.2}, {"e": 9, "chi-square": 1}) == pytest.approx(0.01 / 0.9)
    assert combined_p({"e": 0.9}) == 0.9
    assert combined_p({"e": 0.9, "chi-square": 0.8}) == 1


def test_a_split_budget_sums_to_itself():
    assert split(0.1, {"a": 1, "b": 3}) == pytest.approx({"a": 0.025, "b": 0.075})


def test_all_looks_together_cost_no_more_than_one():
    levels = [look_level(0.01, k) for k in range(1, 100_001)]
    assert sum(levels) == pytest.approx(0.01, rel=1e-5)
    assert sum(levels) < 0.01
    assert levels[0] == pytest.approx(0.01 * 6 / np.pi**2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: holm({}, 0.05),
        lambda: holm({"a": np.nan}, 0.05),
        lambda: holm({"a": 0.5}, 0.0),
        lambda: anytime_p(np.nan),
        lambda: anytime_p(-1.0),
        lambda: combined_p({}),
        lambda: combined_p({"a": 2.0}),
        lambda: combined_p({"a": 0.5}, {"b": 1.0}),
        lambda: split(0.1, {}),
        lambda: split(0.1, {"a": 0.0}),
        lambda: split(0.1, {"a": np.nan, "b": 1.0}),
        lambda: look_level(0.05, 0),
        lambda: look_level(np.nan, 1),
    ],
)
def test_numbers_that_mean_nothing_are_refused(call):
    with pytest.raises(ValueError, match=r"must be|cannot be|no planned check|needs its share|counted from 1"):
        call()
