import numpy as np
import pytest
from scipy.stats import binom, chi2

from specaudit.stats.distance import tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import proportion_lower
from specaudit.stats.power import (
    Cost,
    completions_needed,
    cost,
    detectable_share,
    detectable_tv,
    draws_to_detect,
    draws_to_detect_fault,
    kl_divergence,
    stein_limit,
)


@pytest.mark.parametrize(
    ("dof", "samples", "tokens_per_draw", "tokens"),
    [
        pytest.param(63, 1, 3, 130_000, id="one prompt, one sample"),
        pytest.param(63, 2, 2 * 3, 518_000, id="one prompt, both arms of two samples"),
        pytest.param(10 * 63, 1, 3, 330_000, id="ten prompts"),
        pytest.param(15, 1, 1, 27_000, id="one path in 16 bins"),
    ],
)
def test_published_costs(dof, samples, tokens_per_draw, tokens):
    draws = completions_needed(dof, 0.02, delta=1e-3, success=0.9, samples=samples)
    assert draws * tokens_per_draw == pytest.approx(tokens, rel=0.02)


@pytest.mark.parametrize("samples", [1, 2])
def test_that_many_draws_are_needed_and_enough(samples):
    law = np.full(16, 1 / 16)
    n = completions_needed(15, 0.05, delta=1e-2, success=0.9, samples=samples)
    rng = np.random.default_rng(0)

    def conforms():
        counts = rng.multinomial(n, law)
        test = goodness_of_fit([counts], [law]) if samples == 1 else homogeneity([counts], [rng.multinomial(n, law)])
        return tv_upper_bound(test, delta=1e-2) <= 0.05

    assert np.mean([conforms() for _ in range(2000)]) == pytest.approx(0.9, abs=0.025)


@pytest.mark.parametrize("samples", [1, 2])
def test_a_detectable_deviation_is_detected_in_every_direction(samples):
    n, alpha, power = 5000, 0.01, 0.9
    law = np.full(16, 1 / 16)
    deviation = detectable_tv(n, 15, alpha=alpha, power=power, samples=samples)
    seen_least = law * (1 + 2 * deviation * np.tile([1, -1], 8))
    onto_one_cell = law + deviation * (np.arange(16) == 0) - deviation * (np.arange(16) == 1)
    critical = chi2.isf(alpha, 15)
    rng = np.random.default_rng(1)

    def rejections(subject):
        counts = rng.multinomial(n, subject, size=2000)
        if samples == 1:
            return np.mean([goodness_of_fit([row], [law]).statistic > critical for row in counts])
        others = rng.multinomial(n, law, size=2000)
        pairs = zip(counts, others, strict=True)
        return np.mean([homogeneity([x], [y]).statistic > critical for x, y in pairs])

    assert rejections(seen_least) == pytest.approx(power, abs=0.025)
    assert rejections(onto_one_cell) > 0.99


def test_two_arms_cost_twice_the_draws_each():
    one, two = (completions_needed(63, 0.02, delta=1e-3, success=0.9, samples=s) for s in (1, 2))
    assert two == pytest.approx(2 * one, abs=1)
    assert detectable_tv(2000, 63, alpha=1e-3, power=0.9, samples=2) == pytest.approx(
        detectable_tv(1000, 63, alpha=1e-3, power=0.9)
    )


def test_a_few_completions_see_nothing_below_one():
    assert detectable_tv(1, 63, alpha=1e-3, power=0.99) == 1.0


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="tolerance must be inside"):
        completions_needed(63, 0.0, delta=1e-3, success=0.9)
    with pytest.raises(ValueError, match="success must be inside"):
        completions_needed(63, 0.02, delta=1e-3, success=1.0)
    with pytest.raises(ValueError, match="at least one degree of freedom"):
        completions_needed(0, 0.02, delta=1e-3, success=0.9)
    with pytest.raises(ValueError, match="without completions"):
        detectable_tv(0, 63, alpha=1e-3, power=0.9)
    with pytest.raises(ValueError, match="alpha must be inside"):
        detectable_tv(10, 63, alpha=np.nan, power=0.9)


@pytest.mark.parametrize("samples", [1, 2])
def test_draws_to_detect_is_the_inverse_of_what_is_detectable(samples):
    n = draws_to_detect(0.03, 63, alpha=1e-3, power=0.9, samples=samples)
    assert detectable_tv(n, 63, alpha=1e-3, power=0.9, samples=samples) <= 0.03
    assert detectable_tv(n - 1, 63, alpha=1e-3, power=0.9, samples=samples) > 0.03


LAW = np.array([0.4, 0.3, 0.2, 0.1])
FAULT = np.array([0.43, 0.3, 0.18, 0.09])


def test_a_fault_is_detected_with_the_draws_it_takes():
    n = draws_to_detect_fault(LAW, FAULT, alpha=0.01, power=0.9)
    rng = np.random.default_rng(2)
    statistics = [goodness_of_fit([counts], [LAW]).statistic for counts in rng.multinomial(n, FAULT, size=2000)]
    assert np.mean(np.array(statistics) > chi2.isf(0.01, 3)) == pytest.approx(0.9, abs=0.025)
    tv = np.abs(LAW - FAULT).sum() / 2
    assert n < draws_to_detect(tv, 3, alpha=0.01, power=0.9)


def test_an_impossible_draw_is_detected_at_once_and_no_fault_never():
    assert draws_to_detect_fault([0.5, 0.5, 0.0], [0.5, 0.4, 0.1], alpha=0.01, power=0.9) == 1
    with pytest.raises(ValueError, match="the law itself"):
        draws_to_detect_fault(LAW, LAW, alpha=0.01, power=0.9)
    with pytest.raises(ValueError, match="degree of freedom"):
        draws_to_detect_fault([1.0], [1.0], alpha=0.01, power=0.9)


def test_divergence_is_kullback_and_leiblers():
    assert kl_divergence(FAULT, LAW) == pytest.approx((FAULT * np.log(FAULT / LAW)).sum())
    assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(np.log(2))
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence(LAW, LAW) == 0
    with pytest.raises(ValueError, match="shape"):
        kl_divergence([1.0], LAW)


def test_betting_on_the_fault_comes_close_to_the_stein_limit_and_a_weight_costs_its_logarithm():
    kl = kl_divergence(FAULT, LAW)
    rng = np.random.default_rng(3)
    log_ratios = np.log(FAULT / LAW)[rng.choice(4, p=FAULT, size=(400, 20_000))].cumsum(axis=1)
    for weight in (1.0, 0.1):
        reached = log_ratios >= np.log(1e3 / weight)
        assert reached[:, -1].all()
        mean = (reached.argmax(axis=1) + 1).mean()
        limit = stein_limit(kl, alpha=1e-3, weight=weight)
        assert limit < mean < 1.1 * limit
    assert stein_limit(kl, alpha=1e-3) == pytest.approx(np.log(1000) / kl)


def test_no_test_of_less_than_full_power_beats_its_limit():
    limit = stein_limit(kl_divergence(FAULT, LAW), alpha=0.01, power=0.9)
    assert limit == pytest.approx((0.9 * np.log(90) + 0.1 * np.log(0.1 / 0.99)) / kl_divergence(FAULT, LAW))
    assert limit < draws_to_detect_fault(LAW, FAULT, alpha=0.01, power=0.9)
    assert stein_limit(0.0, alpha=0.01) == np.inf
    assert stein_limit(np.inf, alpha=0.01) == 0


def test_cost_counts_every_request_and_token():
    assert cost(1000, tokens=16, arms=2, choices=64, prompt_tokens=10) == Cost(
        requests=32, prompt_tokens=320, completion_tokens=32_000
    )
    taking_turns = cost(5, tokens=3, prompt_tokens=[10, 20])
    assert (taking_turns.requests, taking_turns.prompt_tokens, taking_turns.tokens) == (5, 70, 85)


@pytest.mark.parametrize(
    "call",
    [
        lambda: draws_to_detect(0.0, 3, alpha=0.01, power=0.9),
        lambda: draws_to_detect_fault(LAW, [np.nan, 0.5, 0.3, 0.2], alpha=0.01, power=0.9),
        lambda: stein_limit(np.nan, alpha=0.01),
        lambda: stein_limit(0.1, alpha=0.01, power=0.001),
        lambda: stein_limit(0.1, alpha=0.01, weight=0.0),
        lambda: cost(0, tokens=3),
        lambda: cost(10, tokens=3, prompt_tokens=[]),
        lambda: cost(10, tokens=3, prompt_tokens=-1),
    ],
)
def test_numbers_that_mean_nothing_are_refused(call):
    with pytest.raises(ValueError, match=r"inside|NaN|cannot be|must be|at least one"):
        call()


@pytest.mark.parametrize("trials", [8, 64, 300])
@pytest.mark.parametrize("above", [0.0, 0.15, 0.4])
def test_a_share_is_seen_with_the_stated_power_and_a_smaller_one_is_not(trials, above):
    alpha, power = 1e-3, 0.9
    share = detectable_share(trials, above, alpha=alpha, power=power)
    events = np.arange(trials + 1)
    seen = np.array([proportion_lower(int(k), trials, alpha) > above for k in events])
    if above == 0:
        seen = events > 0  # one is enough, whatever its bound
    for probability, enough in ((share, True), (share * 0.999, False)):
        met = binom.pmf(events, trials, probability)[seen].sum()
        assert (met >= power - 1e-9) == enough


def test_a_share_that_no_outcome_shows():
    assert detectable_share(3, 0.5, alpha=1e-3, power=0.9) == 1.0
    with pytest.raises(ValueError, match="without trials"):
        detectable_share(0, 0.5, alpha=1e-3, power=0.9)
