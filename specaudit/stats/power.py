"""What an audit costs before it is run: draws for a verdict, and the smallest deviation a test would see.

Both follow from the noncentrality that a total variation forces upon X². By the Cauchy–Schwarz argument in
`specaudit.stats.distance`, a mean TV of τ over strata means λ ≥ 4 h τ², whatever the direction of the deviation,
with h = n in one sample and h = n/2 in two samples of n draws an arm; equality holds where |r_c/p_c - 1| is
2τ in every cell. All expected counts are assumed to be at least 5.
"""

from math import ceil, sqrt
from typing import Literal

from scipy.special import chdtri

from specaudit.stats.noncentral import noncentrality_at


def completions_needed(dof: int, tolerance: float, *, delta: float, success: float, samples: Literal[1, 2] = 1) -> int:
    """Smallest number of draws (per arm) at which a conforming subject is shown to conform.

    Under exact equality X² stays below the `success` quantile x of χ²_dof with that probability; the upper bound
    of TV is then at most ½√(λ_up(x)/h), which must not exceed the tolerance.

    Args:
        dof: Degrees of freedom: Σ over strata of cells - 1, e.g. 63 for one prompt and 64 cells.
        tolerance: Total variation to stay below; subtract the mass of lumped tails beforehand.
        delta: Probability with which the bound may fail.
        success: Wanted probability of `conforms` under exact equality.
        samples: 1 if the law is known, 2 if a reference arm of the same size is drawn.

    Returns:
        Draws (words, completions) in all strata together, per arm.

    Raises:
        ValueError: dof below 1, or the tolerance or a probability not inside (0, 1).
    """
    _check_fractions(tolerance=tolerance, delta=delta, success=success)
    x = _chi_square_quantile(dof, upper_tail=1 - success)
    return max(1, ceil(samples * noncentrality_at(x, dof, delta) / (4 * tolerance**2)))


def detectable_tv(completions: int, dof: int, *, alpha: float, power: float, samples: Literal[1, 2] = 1) -> float:
    """Smallest mean TV that a chi-square test at level `alpha` sees with at least the given power.

    With λ the noncentrality at which P(χ'²_dof(λ) > critical value) = power this is ½√(λ/h). A deviation of that
    TV has noncentrality 4 h TV² = λ or more, and power grows with λ: whatever its direction, it is seen at
    least so often. Many smaller deviations, those that favour rare cells, are seen as well.

    Args:
        completions: Draws in all strata together, per arm.
        dof: Degrees of freedom of the test.
        alpha: Level of the test.
        power: Wanted probability of rejection.
        samples: 1 if the law is known, 2 if a reference arm of the same size is drawn.

    Raises:
        ValueError: dof or `completions` below 1, or a probability not inside (0, 1).
    """
    _check_fractions(alpha=alpha, power=power)
    if completions < 1:
        raise ValueError("a test without completions sees nothing")
    noncentrality = noncentrality_at(_chi_square_quantile(dof, upper_tail=alpha), dof, 1 - power)
    return min(1.0, sqrt(samples * noncentrality / completions) / 2)


def _chi_square_quantile(dof: int, *, upper_tail: float) -> float:
    if dof < 1:
        raise ValueError(f"a chi-square test needs at least one degree of freedom, got {dof}")
    return float(chdtri(dof, upper_tail))


def _check_fractions(**fractions: float) -> None:
    for name, value in fractions.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must be inside (0, 1), got {value}")
