import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from specaudit.stats.distance import tv_between, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity

AUDITS = 2_000
MOST_ALARMS = 131
"""At δ = .05: 100 expected, 3.2 standard deviations above."""
DELTA = 0.05
TOLERANCE = 0.05

RARE = np.r_[np.full(4, 0.2), np.full(16, 0.2 / 16)]
"""Four common cells and sixteen that share a fifth of the mass."""


def tv(p, r):
    return np.abs(p - r).sum() / 2


def tight(law, tolerance=TOLERANCE):
    """The deviation of that TV which X² sees least: every cell of half the mass up by 2τ, the rest down."""
    up = np.arange(len(law)) % 2 == 0
    assert law[up].sum() == pytest.approx(0.5)
    return law * np.where(up, 1 + 2 * tolerance, 1 - 2 * tolerance)


def onto_rare(law):
    return law + TOLERANCE * np.r_[np.full(4, -1 / 4), np.full(16, 1 / 16)]


def off_rare(law):
    return law - TOLERANCE * np.r_[np.full(4, -1 / 4), np.full(16, 1 / 16)]


def onto_one_rare(law):
    return law + TOLERANCE * (np.arange(20) == 19) - TOLERANCE * (np.arange(20) == 0)


def test_the_estimate_is_half_the_l1_distance():
    assert tv_from_law([[60, 40]], [[0.5, 0.5]]).estimate == pytest.approx(0.1)
    assert tv_between([[60, 40]], [[100, 100]]).estimate == pytest.approx(0.1)


def test_strata_are_weighted_by_their_effective_sizes():
    one = tv_from_law([[60, 40], [300, 0]], [[0.5, 0.5]] * 2)
    assert one.estimate == pytest.approx(0.25 * 0.1 + 0.75 * 0.5)
    assert one.by_stratum.tolist() == pytest.approx([0.1, 0.5])
    two = tv_between([[60, 40], [30, 0]], [[100, 100], [15, 15]])
    assert two.effective_sizes.tolist() == pytest.approx([200 / 3, 15])
    assert two.estimate == pytest.approx((200 / 3 * 0.1 + 15 * 0.5) / (200 / 3 + 15))


@pytest.mark.parametrize("n", [1, 7, 20, 400])
def test_one_sample_expectation_is_exact(n):
    law = np.array([0.0, 0.05, 0.15, 0.3, 0.5])
    x = np.arange(n + 1)
    deviations = [np.abs(x - n * p) @ binom.pmf(x, n, p) for p in law]
    result = tv_from_law([[0, 0, 0, 0, n]], [law])
    assert result.expected_under_equality == pytest.approx(sum(deviations) / (2 * n), rel=1e-9)


def test_one_sample_expectation_approaches_the_normal_form():
    n, law = 10_000_000, np.full(64, 1 / 64)
    normal = np.sqrt(law * (1 - law)).sum() / np.sqrt(2 * np.pi * n)
    assert tv_from_law([n * law], [law]).expected_under_equality == pytest.approx(normal, rel=1e-4)


@pytest.mark.parametrize(
    ("first", "second"), [([1, 0], [0, 1]), ([5, 3, 0, 2], [1, 4, 0, 9]), ([50, 30, 20], [2, 3, 4])]
)
def test_two_sample_expectation_is_that_of_all_permutations(first, second):
    first, second = np.array(first), np.array(second)
    n, m, totals = first.sum(), second.sum(), first + second
    x = np.arange(n + 1)
    deviations = [np.abs(x / n - (k - x) / m) @ hypergeom.pmf(x, n + m, k, n) for k in totals]
    result = tv_between([first], [second])
    assert result.expected_under_equality == pytest.approx(sum(deviations) / 2, rel=1e-9)


def test_two_sample_expectation_agrees_with_permuting_many_words():
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(64))
    first, second = rng.multinomial(40_000, law), rng.multinomial(60_000, law)
    tables = rng.multivariate_hypergeometric(first + second, 40_000, size=2000, method="marginals")
    drawn = np.abs(tables / 40_000 - (first + second - tables) / 60_000).sum(axis=1) / 2
    expected = tv_between([first], [second]).expected_under_equality
    assert expected == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(2000))


def test_a_known_single_word_has_no_distance():
    result = tv_from_law([[12]], [[1.0]])
    assert (result.estimate, result.expected_under_equality, result.lower_bound(1e-3)) == (0, 0, 0)
    assert tv_upper_bound(goodness_of_fit([[12]], [[1.0]]), delta=1e-3) == 0


def false_conforms(draw_test, seed=0):
    """How often a subject exactly at the tolerance is declared to be below it."""
    rng = np.random.default_rng(seed)
    return sum(tv_upper_bound(draw_test(rng), delta=DELTA) < TOLERANCE for _ in range(AUDITS))


@pytest.mark.parametrize("direction", [onto_rare, off_rare, onto_one_rare])
def test_upper_bound_covers_subjects_at_the_tolerance(direction):
    subject = direction(RARE)
    assert tv(subject, RARE) == pytest.approx(TOLERANCE)
    assert false_conforms(lambda rng: goodness_of_fit([rng.multinomial(500, subject)], [RARE])) <= MOST_ALARMS


@pytest.mark.parametrize("law", [RARE, np.full(64, 1 / 64)], ids=["rare", "uniform"])
def test_upper_bound_covers_and_is_sharp_in_the_direction_seen_least(law):
    subject = tight(law)
    assert tv(subject, law) == pytest.approx(TOLERANCE)
    assert 60 <= false_conforms(lambda rng: goodness_of_fit([rng.multinomial(3000, subject)], [law])) <= MOST_ALARMS


def test_upper_bound_covers_the_mean_over_prompts():
    sizes = [9000, 3000, 3000]

    def audit(rng):
        return goodness_of_fit([rng.multinomial(n, tight(RARE)) for n in sizes], [RARE] * 3)

    assert 60 <= false_conforms(audit) <= MOST_ALARMS


def test_upper_bound_covers_one_bad_prompt_among_good_ones():
    subjects = [tight(RARE, 3 * TOLERANCE), RARE, RARE]

    def audit(rng):
        return goodness_of_fit([rng.multinomial(2000, law) for law in subjects], [RARE] * 3)

    assert false_conforms(audit) <= MOST_ALARMS


@pytest.mark.parametrize("sizes", [(20_000, 20_000), (10_000, 90_000)], ids=["equal arms", "unequal arms"])
def test_upper_bound_covers_two_samples(sizes):
    n, m = sizes
    # Deviate from the pooled law in proportion to it, so that p̄ is RARE itself and the bound is sharp.
    share = m / (n + m)
    first = tight(RARE, TOLERANCE * share)
    second = tight(RARE, -TOLERANCE * (1 - share))
    assert tv(first, second) == pytest.approx(TOLERANCE)

    def audit(rng):
        return homogeneity([rng.multinomial(n, first)], [rng.multinomial(m, second)])

    assert 60 <= false_conforms(audit) <= MOST_ALARMS


def test_what_happens_inside_pooled_cells_is_covered_by_their_mass():
    law = np.r_[0.9, np.full(200, 0.0005)]
    subject = np.r_[0.9, np.tile([0.0, 0.001], 100)]
    assert tv(subject, law) == pytest.approx(TOLERANCE)
    rng = np.random.default_rng(0)
    tests = [goodness_of_fit([rng.multinomial(2000, subject)], [law]) for _ in range(200)]
    assert all(tv_upper_bound(test, delta=DELTA) >= TOLERANCE for test in tests)
    without = [tv_upper_bound(test, delta=DELTA) - test.pooled_mass for test in tests]
    assert np.mean(np.array(without) < TOLERANCE) > 0.9


def test_upper_bound_adds_the_callers_tail():
    test = goodness_of_fit([[5000, 5000]], [[0.5, 0.5]])
    bare = tv_upper_bound(test, delta=1e-3)
    assert tv_upper_bound(test, delta=1e-3, tail_mass=0.01) == pytest.approx(bare + 0.01)
    assert tv_upper_bound(test, delta=1e-3, tail_mass=1.0) == 1.0
    with pytest.raises(ValueError, match="not a probability"):
        tv_upper_bound(test, delta=1e-3, tail_mass=np.nan)


def test_upper_bound_claims_nothing_where_the_approximation_fails():
    assert tv_upper_bound(goodness_of_fit([[50, 1]], [[0.98, 0.02]], min_expected=0), delta=1e-3) == 1
    assert tv_upper_bound(homogeneity([[50, 1]], [[50, 2]]), delta=1e-3) == 1
    assert tv_upper_bound(goodness_of_fit([[50, 50, 1]], [[0.5, 0.5, 0.0]]), delta=1e-3) == 1


def test_upper_bound_of_a_gross_fault_is_finite_and_above_it():
    test = goodness_of_fit([[900_000, 100_000]], [[0.5, 0.5]])
    assert 0.4 <= tv_upper_bound(test, delta=1e-3) <= 0.41


def test_subtracting_the_expectation_is_no_bound():
    law = np.full(1000, 1e-3)
    subject = law * np.where(np.arange(1000) % 2 == 0, 1.08, 0.92)
    truth, n = tv(subject, law), 20_000
    rng = np.random.default_rng(0)
    tempting, valid = [], []
    for _ in range(300):
        counts = [rng.multinomial(n, subject)]
        result = tv_from_law(counts, [law])
        tempting.append(result.estimate - result.expected_under_equality + np.sqrt(np.log(1 / DELTA) / (2 * n)))
        valid.append(tv_upper_bound(goodness_of_fit(counts, [law]), delta=DELTA))
    assert np.mean(np.array(tempting) < truth) > 0.9
    assert np.mean(np.array(valid) < truth) < 0.1


@pytest.mark.parametrize(
    "subject", [RARE, tight(RARE), onto_rare(RARE), np.eye(20)[19]], ids=lambda s: f"{tv(s, RARE):.2f}"
)
def test_lower_bounds_cover_every_law(subject):
    rng = np.random.default_rng(6)
    truth = tv(subject, RARE)
    missed = 0
    for _ in range(AUDITS):
        counts = [rng.multinomial(n, subject) for n in (30, 300)]
        reference = [rng.multinomial(n, RARE) for n in (50, 200)]
        missed += tv_from_law(counts, [RARE] * 2).lower_bound(DELTA) > truth + 1e-12
        missed += tv_between(counts, reference).lower_bound(DELTA) > truth + 1e-12
    assert missed <= MOST_ALARMS


def test_lower_bound_is_its_formula():
    result = tv_from_law([[100, 0, 0], [0, 400, 0, 0, 0]], [[0.1, 0.4, 0.5], np.full(5, 0.2)])
    assert result.estimate == pytest.approx(0.2 * 0.9 + 0.8 * 0.8)
    bias = (0.2 * np.sqrt(2 / 100) + 0.8 * np.sqrt(4 / 400)) / 2
    assert result.lower_bound(1e-3) == pytest.approx(0.82 - bias - np.sqrt(np.log(1000) / 1000))


def test_lower_bound_without_its_bias_term_would_miss():
    law = np.full(200, 1 / 200)
    rng = np.random.default_rng(7)
    results = [tv_from_law([rng.multinomial(400, law)], [law]) for _ in range(100)]
    assert all(result.estimate - np.sqrt(np.log(1 / DELTA) / 800) > 0 for result in results)
    assert all(result.lower_bound(DELTA) == 0 for result in results)


def test_lower_bound_comes_close_with_enough_words():
    rng = np.random.default_rng(8)
    subject = tight(RARE, 0.1)
    assert 0.085 < tv_from_law([rng.multinomial(100_000, subject)], [RARE]).lower_bound(1e-3) < 0.1


def test_bounds_refuse_a_level_that_is_none():
    for delta in (0, 1, np.nan):
        with pytest.raises(ValueError, match="delta"):
            tv_from_law([[1, 1]], [[0.5, 0.5]]).lower_bound(delta)
        with pytest.raises(ValueError, match="delta"):
            tv_upper_bound(goodness_of_fit([[1, 1]], [[0.5, 0.5]]), delta=delta)
