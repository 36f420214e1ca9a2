import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from specaudit.stats.distance import expected_tv, smallest_upper_bound, tv_between, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity

AUDITS = 2_000
MOST_ALARMS = 131
"""At δ = .05: 100 expected, 3.2 standard deviations above."""
DELTA = 0.05
TOLERANCE = 0.05

RARE = np.r_[np.full(4, 0.2), np.full(16, 0.2 / 16)]
"""Four common cells and sixteen that share a fifth of the mass."""

ZIPF = np.arange(1.0, 1001.0) ** -1 / (np.arange(1.0, 1001.0) ** -1).sum()
"""A thousand words of which two hundred draws see few."""


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


def test_the_two_forms_of_the_expectation_meet_where_cells_are_well_filled():
    n, law = 10_000_000, np.full(64, 1 / 64)
    normal = np.sqrt(law * (1 - law)).sum() / np.sqrt(2 * np.pi * n)
    assert expected_tv(law, n, form="normal") == pytest.approx(normal)
    assert (
        tv_from_law([n * law], [law]).expected_under_equality == expected_tv(law, n) == pytest.approx(normal, rel=1e-4)
    )


def test_rare_cells_need_the_exact_form_of_the_expectation():
    rng = np.random.default_rng(9)
    drawn = np.mean([tv_from_law([rng.multinomial(200, ZIPF)], [ZIPF]).estimate for _ in range(500)])
    assert expected_tv(ZIPF, 200) == pytest.approx(drawn, rel=0.01)
    assert expected_tv(ZIPF, 200, form="normal") > 1.2 * drawn


def test_an_expectation_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        expected_tv([0.5, 0.5], 0)
    with pytest.raises(ValueError, match="negative or NaN"):
        expected_tv([np.nan, 1.0], 10)
    with pytest.raises(ValueError, match="no cell"):
        expected_tv([], 10)


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


@pytest.mark.parametrize("law", [RARE, ZIPF], ids=["rare", "zipf"])
def test_the_bound_without_asymptotics_covers_at_the_tolerance(law):
    rng, n, tolerance = np.random.default_rng(11), 200, 0.3
    moved = law[0] - tolerance
    common = np.r_[moved, law[1:]] if moved >= 0 else (1 - tolerance) * law
    # What the common cells lose goes to the rarest one, where it can be seen at once, or to all of them alike.
    for gain in (np.eye(len(law))[-1], np.full(len(law), 1 / len(law))):
        subject = common + (1 - common.sum()) * gain
        truth = tv(subject, law)
        missed = 0
        for _ in range(AUDITS // 2):
            one = tv_from_law([rng.multinomial(n, subject)], [law])
            two = tv_between([rng.multinomial(n, subject)], [rng.multinomial(3 * n, law)])
            missed += one.upper_bound(DELTA) < truth
            missed += two.upper_bound(DELTA) < truth
        assert missed <= MOST_ALARMS


def test_the_bound_without_asymptotics_is_its_formula_and_nearly_sharp_with_two_cells():
    law, subject, n = np.array([0.5, 0.5]), np.array([0.9, 0.1]), 2000
    rng = np.random.default_rng(12)
    result = tv_from_law([[900, 100], [600, 400]], [law, law])
    assert result.upper_bound(1e-3) == pytest.approx(0.25 + np.sqrt(np.log(1000) / 4000))
    assert result.upper_bound(1e-3, tail_mass=0.01) == pytest.approx(0.26 + np.sqrt(np.log(1000) / 4000))
    assert tv_from_law([[5, 0]], [law]).upper_bound(1e-3) == 1.0
    bounds = [tv_from_law([rng.multinomial(n, subject)], [law]).upper_bound(DELTA) for _ in range(200)]
    assert np.mean(bounds) < 0.4 + 0.03
    with pytest.raises(ValueError, match="not a probability"):
        result.upper_bound(1e-3, tail_mass=1.5)


def three_bounds(rng, subject, law, n):
    """The upper bounds of a plan that has a law, a reference arm and not enough confidence in asymptotics."""
    counts, reference = [rng.multinomial(n, subject)], [rng.multinomial(3 * n, law)]
    one, two = goodness_of_fit(counts, [law]), homogeneity(counts, reference)
    return {
        "one-sample": lambda delta: tv_upper_bound(one, delta=delta),
        "two-sample": lambda delta: tv_upper_bound(two, delta=delta),
        "any law": tv_from_law(counts, [law]).upper_bound,
    }


def test_the_smallest_of_three_bounds_costs_a_third_each():
    bounds = three_bounds(np.random.default_rng(13), RARE, RARE, 2000)
    chosen = smallest_upper_bound(bounds, DELTA)
    assert (chosen.value, chosen.name, chosen.delta) == (bounds["one-sample"](DELTA / 3), "one-sample", DELTA)
    assert bounds["one-sample"](DELTA) < chosen.value < min(bounds["two-sample"](DELTA), bounds["any law"](DELTA))
    with pytest.raises(ValueError, match="no bound"):
        smallest_upper_bound({}, DELTA)


def test_the_smallest_of_three_bounds_covers_at_the_tolerance():
    rng, law = np.random.default_rng(14), np.full(4, 0.25)
    subject = tight(law)
    wrong = sum(
        smallest_upper_bound(three_bounds(rng, subject, law, 3000), DELTA).value < TOLERANCE for _ in range(AUDITS)
    )
    assert wrong <= MOST_ALARMS


def test_only_pearsons_statistic_bounds_a_distance():
    test = goodness_of_fit([[50, 50]], [[0.5, 0.5]], power=0.0)
    with pytest.raises(ValueError, match="only Pearson"):
        tv_upper_bound(test, delta=1e-3)


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


def test_lower_bounds_are_their_formulas():
    counts, laws = [[100, 0, 0], [0, 400, 0, 0, 0]], [[0.1, 0.4, 0.5], np.full(5, 0.2)]
    one = tv_from_law(counts, laws)
    assert one.estimate == pytest.approx(0.2 * 0.9 + 0.8 * 0.8)
    fluctuation = np.sqrt(np.log(1000) / 1000)
    assert one.lower_bound(1e-3) == pytest.approx(0.82 - one.expected_under_equality - fluctuation)
    two = tv_between(counts, [[0, 0, 100], [400, 0, 0, 0, 0]])
    bias = (0.2 * np.sqrt(2 / 50) + 0.8 * np.sqrt(4 / 200)) / 2
    assert two.lower_bound(1e-3) == pytest.approx(1 - bias - np.sqrt(2) * fluctuation)


@pytest.mark.parametrize("law", [RARE, ZIPF], ids=["rare", "zipf"])
def test_no_subject_biases_the_estimate_more_than_equality_does(law):
    rng = np.random.default_rng(10)
    bias = expected_tv(law, 200)
    for subject in (law, law[::-1], np.eye(len(law))[0], rng.dirichlet(np.ones(len(law)))):
        estimates = [tv_from_law([rng.multinomial(200, subject)], [law]).estimate for _ in range(300)]
        noise = 4 * np.std(estimates) / np.sqrt(300)
        assert np.mean(estimates) - tv(law, subject) <= bias + noise


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
