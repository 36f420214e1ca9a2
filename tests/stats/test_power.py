import numpy as np
import pytest
from scipy.stats import chi2

from specaudit.stats.distance import tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.power import completions_needed, detectable_tv


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
