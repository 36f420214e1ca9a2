import numpy as np
import pytest
from scipy.stats import kstest

from specaudit.stats.montecarlo import monte_carlo


def scripted(values):
    """A simulation that hands out the given statistics in order."""
    stream = iter(values)
    return lambda size: np.array([next(stream) for _ in range(size)], dtype=float)


def test_fixed_number_of_draws_counts_the_observed_one_in():
    result = monte_carlo(5.0, scripted([6, 4, 5, 1]), draws=4, stop_after=None, cells=1)
    assert (result.p_value, result.draws, result.exceedances) == (3 / 5, 4, 2)


def test_an_unmatched_observation_never_gets_p_zero():
    result = monte_carlo(5.0, scripted([0] * 999), draws=999, stop_after=10, cells=1)
    assert result.p_value == 1 / 1000


def test_stopping_ends_at_the_exceedance_itself_not_at_its_batch():
    values = [0] * 100 + [9] + [0] * 49 + [9] + [0] * 1000
    result = monte_carlo(5.0, scripted(values), draws=1000, stop_after=2, cells=1)
    assert (result.p_value, result.draws, result.exceedances) == (2 / 151, 151, 2)


def test_ties_up_to_rounding_are_exceedances():
    assert monte_carlo(1e6, scripted([1e6 * (1 - 1e-13)]), draws=1, stop_after=None, cells=1).exceedances == 1
    assert monte_carlo(1e6, scripted([1e6 * (1 - 1e-6)]), draws=1, stop_after=None, cells=1).exceedances == 0


def test_an_impossible_observation_needs_no_draws():
    result = monte_carlo(np.inf, scripted([]), draws=1000, stop_after=None, cells=1)
    assert (result.p_value, result.draws) == (0.0, 0)


def test_batches_bound_the_memory():
    sizes = []

    def simulate(size):
        sizes.append(size)
        return np.zeros(size)

    monte_carlo(1.0, simulate, draws=1000, stop_after=None, cells=10_000)
    assert max(sizes) * 10_000 <= 1 << 20
    assert sum(sizes) == 1000


@pytest.mark.parametrize("stop_after", [None, 1, 5])
def test_p_values_of_either_rule_are_valid(stop_after):
    rng = np.random.default_rng(1)
    p = np.array(
        [monte_carlo(rng.random(), rng.random, draws=99, stop_after=stop_after, cells=1).p_value for _ in range(2000)]
    )
    for alpha in (0.05, 0.2, 0.5):
        spread = np.sqrt(alpha * (1 - alpha) / 2000)
        assert (p <= alpha).mean() <= alpha + 3.3 * spread
    assert (p <= 0.05).mean() >= 0.034


def test_a_rule_without_draws_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        monte_carlo(1.0, scripted([]), draws=0, stop_after=None, cells=1)
    with pytest.raises(ValueError, match="at least 1"):
        monte_carlo(1.0, scripted([]), draws=10, stop_after=0, cells=1)


def test_a_randomised_p_lies_between_the_draws_above_and_those_at_the_observation():
    result = monte_carlo(5.0, scripted([6, 4, 5, 1]), draws=4, stop_after=None, cells=1)
    assert (result.ties, result.randomised_p(0.0), result.randomised_p(1.0)) == (1, 1 / 5, 3 / 5)
    assert monte_carlo(np.inf, scripted([]), draws=9, stop_after=None, cells=1).randomised_p(0.5) == 0


def test_randomised_p_values_of_a_coarse_statistic_are_uniform():
    rng = np.random.default_rng(2)

    def coarse(size):
        return rng.integers(0, 3, size).astype(float)

    results = [monte_carlo(coarse(1).item(), coarse, draws=19, stop_after=None, cells=1) for _ in range(2000)]
    assert kstest([result.randomised_p(rng.random()) for result in results], "uniform").pvalue > 1e-3
    assert kstest([result.p_value for result in results], "uniform").pvalue < 1e-6


def test_a_randomised_p_needs_all_draws():
    with pytest.raises(ValueError, match="fixed number of draws"):
        monte_carlo(0.0, scripted([1] * 9), draws=9, stop_after=2, cells=1).randomised_p(0.5)
    with pytest.raises(ValueError, match="uniform number"):
        monte_carlo(0.0, scripted([1]), draws=1, stop_after=None, cells=1).randomised_p(np.nan)


def test_a_statistic_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        monte_carlo(np.nan, scripted([1]), draws=1, stop_after=None, cells=1)
