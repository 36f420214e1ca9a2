"""The noncentral chi-square law, and its noncentrality from one of its quantiles.

P(χ'²_k(λ) ≤ x) = Σ_j Poisson(j; λ/2) · P(χ²_{k+2j} ≤ x) (Johnson, Kotz and Balakrishnan, vol. 2, 29.2), summed
over nine standard deviations of the Poisson law. Beyond λ = 10^5 the normal approximation of Sankaran (1963) takes
over, good there to a relative 10^-6 with tens of degrees of freedom and 10^-5 with thousands, three standard deviations
out. `scipy.special.chndtr` would not do: it is NaN for the largest arguments, and older releases clip λ at 10^4
(scipy issue 12731).
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, gammaln, ndtr, xlogy

_LARGE = 1e5
_POISSON_SDS = 9
_POISSON_MARGIN = 40


def noncentral_cdf(x: float, dof: int, noncentrality: float) -> float:
    """P(χ'²_dof(λ) ≤ x) for dof ≥ 1, x ≥ 0 and λ ≥ 0."""
    if noncentrality > _LARGE:
        return _sankaran(x, dof, noncentrality)
    mean = noncentrality / 2
    reach = _POISSON_SDS * np.sqrt(mean) + _POISSON_MARGIN
    j = np.arange(max(0, int(mean - reach)), int(mean + reach) + 1)
    weights = np.exp(xlogy(j, mean) - mean - gammaln(j + 1))
    return float(weights @ gammainc(dof / 2 + j, x / 2))


@lru_cache(maxsize=4096)  # whoever plans asks for the same few again and again
def noncentrality_at(x: float, dof: int, probability: float) -> float:
    """The λ with P(χ'²_dof(λ) ≤ x) = `probability`; 0 if x is too small for any, infinite if x is.

    With x an observed X² and `probability` = δ this is an upper confidence bound of λ at level 1 - δ: the
    probability falls in λ, and a larger λ would have produced so small an X² with probability below δ.
    With x a critical value and `probability` = 1 - power it is the noncentrality a test needs.

    Raises:
        ValueError: x is negative or NaN, dof below 1, or the probability not inside (0, 1).
    """
    if not (x >= 0 and dof >= 1 and 0 < probability < 1):
        raise ValueError(f"no noncentrality for x = {x}, dof = {dof}, probability = {probability}")
    if np.isinf(x):
        return np.inf
    if noncentral_cdf(x, dof, 0.0) <= probability:
        return 0.0
    high = max(1.0, x)
    while noncentral_cdf(x, dof, high) > probability:
        high *= 2
    return float(brentq(lambda nc: noncentral_cdf(x, dof, nc) - probability, 0.0, high, rtol=1e-12))


def _sankaran(x: float, dof: int, noncentrality: float) -> float:
    """Normal approximation of (χ'²/mean)^h, h chosen so that its skewness vanishes."""
    mean, spread = dof + noncentrality, dof + 2 * noncentrality
    h = 1 - 2 / 3 * mean * (dof + 3 * noncentrality) / spread**2
    p = spread / mean**2
    m = (h - 1) * (1 - 3 * h)
    centre = 1 + h * p * (h - 1 - (2 - h) * m * p / 2)
    return float(ndtr(((x / mean) ** h - centre) / (h * np.sqrt(2 * p) * (1 + m * p / 2))))
