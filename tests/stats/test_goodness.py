import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest, power_divergence

from specaudit.stats.chisquare import CRESSIE_READ, LIKELIHOOD_RATIO, PEARSON
from specaudit.stats.goodness import goodness_of_fit

NULL_AUDITS = 2_000
MOST_ALARMS = 131
"""At α = .05: 100 expected, 3.2 standard deviations above."""


def zipf(exponent):
    weights = np.arange(1.0, 1001.0) ** -exponent
    return weights / weights.sum()


def alarms(law, n, alpha, p_value, *, audits=NULL_AUDITS, seed=0):
    """How many of `audits` samples of the law itself get p ≤ α."""
    rng = np.random.default_rng(seed)
    return sum(p_value(rng.multinomial(n, law), rng) <= alpha for _ in range(audits))


def test_statistic_and_asymptotic_p_are_pearsons():
    counts, law = np.array([30, 50, 20]), np.array([0.3, 0.4, 0.3])
    expected = chisquare(counts, 100 * law)
    test = goodness_of_fit([counts], [law])
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.asymptotic_p == pytest.approx(expected.pvalue)
    assert (test.dof, test.effective_size, test.pooled_mass, test.impossible) == (2, 100, 0, 0)
    assert test.smallest_expected == pytest.approx(30)


def test_cells_lumped_into_one_that_is_certain_are_still_a_law():
    """Added in another order, probabilities may come to 1.0000000000000002, of which no table can be drawn."""
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(20), size=50)
    assert any(np.sort(law).sum() > 1 for law in laws)
    few = np.eye(20, dtype=int)[0]
    for law in laws:
        test = goodness_of_fit([few, rng.multinomial(400, laws[0])], [law, laws[0]], draws=99, rng=rng)
        assert test.pooled_mass > 0


@pytest.mark.parametrize("power", [LIKELIHOOD_RATIO, CRESSIE_READ])
def test_other_powers_are_those_of_scipy(power):
    counts, law = np.array([30, 50, 20, 0]), np.array([0.3, 0.4, 0.2, 0.1])
    expected = power_divergence(counts, 100 * law, lambda_=power)
    test = goodness_of_fit([counts], [law], power=power)
    assert (test.power, test.statistic) == (power, pytest.approx(expected.statistic))
    assert test.asymptotic_p == pytest.approx(expected.pvalue)


def test_strata_add_their_statistics_and_degrees_of_freedom():
    strata = [([30, 50, 20], [0.3, 0.4, 0.3]), ([40, 60], [0.5, 0.5])]
    apart = [goodness_of_fit([counts], [law]) for counts, law in strata]
    joint = goodness_of_fit([c for c, _ in strata], [p for _, p in strata])
    assert joint.statistic == pytest.approx(sum(test.statistic for test in apart))
    assert joint.dof == 3


def test_a_fault_that_cancels_between_prompts_is_seen():
    counts = np.array([[700, 300], [300, 700]])
    test = goodness_of_fit(counts, [[0.5, 0.5]] * 2, draws=999, rng=np.random.default_rng(0))
    assert test.monte_carlo.p_value == 1 / 1000


@given(
    weights=st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any),
    n=st.integers(1, 3000),
    seed=st.integers(0, 100),
)
def test_pooling_leaves_no_small_expectation_and_never_looks_at_the_counts(weights, n, seed):
    law = np.array(weights) / sum(weights)
    rng = np.random.default_rng(seed)
    one, two = (goodness_of_fit([rng.multinomial(n, law)], [law]) for _ in range(2))
    assert one.smallest_expected >= 5
    assert (one.dof, one.pooled_mass) == (two.dof, two.pooled_mass)
    kept = np.count_nonzero(n * law >= 5)
    assert kept - 2 <= one.dof <= kept


def test_the_lump_takes_the_smallest_cells_until_it_reaches_five():
    law = np.array([0.01, 0.5, 0.03, 0.06, 0.4])
    test = goodness_of_fit([[2, 50, 3, 5, 40]], [law])
    assert test.dof == 2  # .01, .03 and, because 1 + 3 < 5, .06 as well
    assert test.pooled_mass == pytest.approx(0.10)
    assert test.smallest_expected == pytest.approx(10)


def test_pooling_may_be_declined():
    test = goodness_of_fit([[1, 0, 9]], [[0.1, 0.1, 0.8]], min_expected=0)
    assert (test.dof, test.pooled_mass) == (2, 0)
    assert not test.asymptotic_valid(0.05)


def test_the_asymptotic_p_is_valid_only_at_large_levels_and_expectations():
    test = goodness_of_fit([[30, 70]], [[0.5, 0.5]])
    assert test.asymptotic_valid(0.01)
    assert not test.asymptotic_valid(0.001)


def test_an_impossible_token_is_a_certain_violation():
    test = goodness_of_fit([[50, 49, 1]], [[0.5, 0.5, 0.0]], draws=1000, rng=np.random.default_rng(0))
    assert (test.impossible, test.asymptotic_p, test.monte_carlo.p_value) == (1, 0.0, 0.0)
    assert test.statistic == np.inf


def test_impossible_cells_that_stay_empty_carry_no_degree_of_freedom():
    assert goodness_of_fit([[50, 50, 0]], [[0.5, 0.5, 0.0]]).dof == 1


@pytest.mark.parametrize(("counts", "laws"), [([[7]], [[1.0]]), ([[1, 2]], [[0.5, 0.5]])])
def test_one_cell_or_too_few_draws_decide_nothing(counts, laws):
    test = goodness_of_fit(counts, laws, draws=99, rng=np.random.default_rng(0))
    assert (test.statistic, test.dof, test.asymptotic_p, test.monte_carlo.p_value) == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("setting", "message"), [({"power": -1.0}, "power above -1"), ({"min_expected": np.nan}, "min_expected")]
)
def test_settings_that_are_none_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        goodness_of_fit([[5, 5]], [[0.5, 0.5]], **setting)


def test_draws_need_a_generator():
    with pytest.raises(ValueError, match="random generator"):
        goodness_of_fit([[5, 5]], [[0.5, 0.5]], draws=10)


WORLDS = {
    "skewed, ten cells": (np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01]), 300),
    "Zipf, V = 1000": (zipf(1.0), 200),
}


@pytest.mark.parametrize(
    ("min_expected", "stop_after", "power"), [(0, None, PEARSON), (5, 5, PEARSON), (5, 5, LIKELIHOOD_RATIO)]
)
@pytest.mark.parametrize("world", WORLDS)
def test_monte_carlo_keeps_its_level(world, min_expected, stop_after, power):
    law, n = WORLDS[world]

    def p_value(counts, rng):
        test = goodness_of_fit(
            [counts], [law], min_expected=min_expected, draws=39, stop_after=stop_after, power=power, rng=rng
        )
        return test.monte_carlo.p_value

    assert 69 <= alarms(law, n, 0.05, p_value) <= MOST_ALARMS


@pytest.mark.parametrize("power", [PEARSON, LIKELIHOOD_RATIO])
def test_randomised_p_values_are_uniform(power):
    law, rng = np.array([0.7, 0.2, 0.1]), np.random.default_rng(1)
    tests = [
        goodness_of_fit([rng.multinomial(20, law)], [law], min_expected=0, power=power, draws=49, rng=rng)
        for _ in range(NULL_AUDITS)
    ]
    assert kstest([test.monte_carlo.randomised_p(rng.random()) for test in tests], "uniform").pvalue > 1e-3


def test_looking_again_and_again_is_caught_by_the_same_calibration():
    rng, law, alarmed = np.random.default_rng(2), np.full(4, 0.25), 0
    for _ in range(NULL_AUDITS):
        looks = rng.multinomial(40, law, size=10).cumsum(axis=0)
        alarmed += any(goodness_of_fit([counts], [law]).asymptotic_p <= 0.05 for counts in looks)
    assert alarmed > MOST_ALARMS


@pytest.mark.parametrize("exponent", [1.0, 1.2])
def test_the_asymptotic_p_rejects_a_zipf_world_far_too_often(exponent):
    def p_value(counts, rng):
        return goodness_of_fit([counts], [zipf(exponent)], min_expected=0).asymptotic_p

    assert alarms(zipf(exponent), 200, 0.001, p_value) > 10 * 0.001 * NULL_AUDITS


def test_a_conforming_subject_costs_few_draws():
    law, n = WORLDS["skewed, ten cells"]
    rng = np.random.default_rng(0)
    spent = [
        goodness_of_fit([rng.multinomial(n, law)], [law], draws=200_000, stop_after=10, rng=rng).monte_carlo.draws
        for _ in range(100)
    ]
    assert np.median(spent) < 40
