import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import power_divergence

from specaudit.stats.chisquare import CRESSIE_READ, LIKELIHOOD_RATIO, PEARSON, divergence


@pytest.mark.parametrize("power", [PEARSON, CRESSIE_READ, LIKELIHOOD_RATIO, 3.0])
@given(counts=st.lists(st.integers(0, 500), min_size=1, max_size=9).filter(any), seed=st.integers(0, 50))
def test_divergences_are_those_of_scipy(power, counts, seed):
    law = np.random.default_rng(seed).dirichlet(np.ones(len(counts))) * 0.9 + 0.1 / len(counts)
    expected = sum(counts) * law
    wanted = power_divergence(counts, expected, lambda_=power).statistic
    assert divergence(np.array([counts]), expected, power).item() == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_a_negative_power_is_finite_where_cells_are_empty():
    tables, expected = np.array([[0, 10]]), np.array([2.0, 8.0])
    freeman_tukey = 4 * np.square(np.sqrt(tables) - np.sqrt(expected)).sum()
    assert divergence(tables, expected, -0.5).item() == pytest.approx(freeman_tukey)


def test_each_table_gets_its_own_statistic():
    tables = np.array([[5, 5], [10, 0]])
    assert divergence(tables, np.array([5.0, 5.0]), PEARSON).tolist() == [0, 10]
    assert divergence(tables, np.array([5.0, 5.0]), LIKELIHOOD_RATIO) == pytest.approx([0, 20 * np.log(2)])


@pytest.mark.parametrize("power", [-1.0, -2.0, np.inf, np.nan])
def test_powers_at_which_an_empty_cell_is_infinite_are_refused(power):
    with pytest.raises(ValueError, match="finite power above -1"):
        divergence(np.array([[1, 2]]), np.array([1.5, 1.5]), power)
