import numpy as np
import pytest
from scipy.stats import chi2_contingency

from specaudit.stats.chisquare import CRESSIE_READ, LIKELIHOOD_RATIO, PEARSON
from specaudit.stats.homogeneity import homogeneity

NULL_AUDITS = 2_000
MOST_ALARMS = 131
LAWS = np.array([[0.4, 0.3, 0.2, 0.08, 0.02], [0.02, 0.08, 0.2, 0.3, 0.4]])
"""Two prompts that favour opposite cells."""


@pytest.mark.parametrize("power", [PEARSON, CRESSIE_READ, LIKELIHOOD_RATIO])
def test_statistic_is_that_of_the_contingency_table(power):
    first, second = np.array([12, 30, 9, 0]), np.array([25, 40, 31, 0])
    expected = chi2_contingency(np.stack([first, second])[:, :3], correction=False, lambda_=power)
    for arms in ((first, second), (second, first)):
        test = homogeneity([arms[0]], [arms[1]], power=power)
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.asymptotic_p == pytest.approx(expected.pvalue)
        assert test.dof == 2
        assert test.effective_size == pytest.approx(51 * 96 / 147)
        assert test.smallest_expected == pytest.approx(expected.expected_freq.min())


@pytest.mark.parametrize("sizes", [(40, 40), (40, 400), (2000, 3000)], ids=["count", "unequal", "marginals"])
@pytest.mark.parametrize(("stop_after", "power"), [(None, PEARSON), (5, LIKELIHOOD_RATIO)])
def test_permutation_keeps_its_level(sizes, stop_after, power):
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(NULL_AUDITS):
        first, second = (np.stack([rng.multinomial(n, law) for law in LAWS]) for n in sizes)
        test = homogeneity(first, second, draws=99, stop_after=stop_after, power=power, rng=rng)
        alarms += test.monte_carlo.p_value <= 0.05
    assert 60 <= alarms <= MOST_ALARMS


@pytest.mark.parametrize("n", [50, 5000], ids=["count", "marginals"])
def test_permuted_statistics_follow_their_asymptotic_law(n):
    rng = np.random.default_rng(3)
    law = np.full(4, 0.25)
    test = homogeneity([rng.multinomial(n, law)], [rng.multinomial(n, law)], draws=20_000, rng=rng)
    assert test.monte_carlo.p_value == pytest.approx(test.asymptotic_p, abs=0.02)


def test_arms_that_asked_the_prompts_unequally_often_are_no_difference():
    rng = np.random.default_rng(4)
    first = np.stack([rng.multinomial(n, law) for n, law in zip((900, 100), LAWS, strict=True)])
    second = np.stack([rng.multinomial(n, law) for n, law in zip((100, 900), LAWS, strict=True)])
    stratified = homogeneity(first, second, draws=999, rng=rng)
    confounded = homogeneity([first.sum(axis=0)], [second.sum(axis=0)], draws=999, rng=rng)
    assert stratified.monte_carlo.p_value > 0.01
    assert confounded.monte_carlo.p_value == 1 / 1000


def test_a_fault_that_cancels_between_prompts_is_seen():
    rng = np.random.default_rng(5)
    first = np.stack([rng.multinomial(500, law) for law in LAWS])
    second = np.stack([rng.multinomial(500, law) for law in LAWS[::-1]])
    assert homogeneity(first, second, draws=999, rng=rng).monte_carlo.p_value == 1 / 1000


def test_one_shared_cell_decides_nothing():
    test = homogeneity([[7, 0]], [[9, 0]], draws=99, rng=np.random.default_rng(0))
    assert (test.statistic, test.dof, test.asymptotic_p, test.monte_carlo.p_value) == (0, 0, 1, 1)
    assert test.smallest_expected == np.inf


def test_a_prompt_only_one_arm_answered_does_not_count():
    full = homogeneity([[30, 20]], [[25, 25]])
    assert homogeneity([[30, 20], [9, 9]], [[25, 25], [0, 0]]) == full


def test_disjoint_arms_get_the_smallest_p():
    test = homogeneity([[100, 0]], [[0, 100]], draws=999, stop_after=10, rng=np.random.default_rng(0))
    assert test.statistic == pytest.approx(200)
    assert test.monte_carlo.p_value == 1 / 1000


def test_permutations_need_a_generator():
    with pytest.raises(ValueError, match="random generator"):
        homogeneity([[5, 5]], [[5, 5]], draws=10)
