import numpy as np
import pytest

from specaudit.stats.evalues.wealth import Wealth


class Open(Wealth):
    """Takes factors from anyone."""

    def take(self, *factors):
        self._multiply(np.log(np.array(factors)))


def two():
    return Open(["bold", "shy"], np.log([0.25, 0.75]))


def test_before_any_evidence_e_is_one():
    process = two()
    value = process.value()
    assert (process.log_e, value.p_value, value.groups, value.sup_at) == (0, 1, 0, 0)
    assert process.rejected_at(0.05) is None


def test_wealth_is_mixed_not_multiplied():
    process = two()
    process.take([2, 1], [3, 1])
    process.take([0.5, 2])
    np.testing.assert_allclose(np.exp(process.path), [1, 1.25, 2.25, 0.75 + 1.5])
    assert np.exp(process.log_wealth["bold"]) == pytest.approx(3)


def test_the_largest_value_counts_and_is_kept():
    process = two()
    process.take([100, 1], [0.01, 1])
    value = process.value()
    assert value.p_value == pytest.approx(1 / 25.75)
    assert (value.sup_at, value.groups) == (1, 2)
    assert value.log_e == pytest.approx(0, abs=1e-12)
    assert (value.leader, value.leader_log_wealth) == ("bold", pytest.approx(0, abs=1e-12))


def test_rejection_is_at_the_first_group_that_reaches_one_over_alpha():
    process = two()
    process.take([4, 4], [5, 5], [0.1, 0.1], [100, 100])
    assert process.rejected_at(0.05) == 2
    assert process.rejected_at(0.051) == 2
    assert process.rejected_at(0.049) == 4
    for bad in (0, 1, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            process.rejected_at(bad)


def test_infinite_evidence_stays():
    process = two()
    process.take([np.inf, 1], [0.01, 1])
    assert np.isposinf(process.path[1:]).all()
    assert (process.value().p_value, process.value().leader) == (0, "bold")


def test_long_paths_neither_overflow_nor_underflow():
    process = two()
    process.take(*[[1e300, 1e-300]] * 20)
    assert process.log_e == pytest.approx(20 * 300 * np.log(10) + np.log(0.25))
