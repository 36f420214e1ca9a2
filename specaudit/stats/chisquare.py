"""What a stratified power-divergence test measures, and what it leaves behind (`goodness`, `homogeneity`).

The family of Cressie and Read (1984) compares counts O with expectations E of the same total by

    2/(λ(λ+1)) Σ_c O_c ((O_c/E_c)^λ - 1):

Pearson's X² at λ = 1, the log-likelihood ratio G = 2 Σ O ln(O/E) at λ → 0, their own choice at λ = 2/3. All have the
same χ² law when every expectation is large. Pearson's leans towards rare cells that are seen too often, G towards
cells that are seen too seldom. Only Pearson's bounds a distance (`distance.tv_upper_bound`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import boxcox, chdtrc

from specaudit.stats.montecarlo import MonteCarlo

PEARSON = 1.0
"""The power of Pearson's X²."""

LIKELIHOOD_RATIO = 0.0
"""The power of the log-likelihood ratio G."""

CRESSIE_READ = 2 / 3
"""The power that keeps closest to its asymptotic law when expectations are small (Cressie and Read 1984)."""

MIN_EXPECTED = 5.0
"""Smallest expected count at which the chi-square law describes a cell (Cochran 1954)."""

_MIN_ASYMPTOTIC_ALPHA = 0.01


@dataclass(frozen=True, kw_only=True)
class ChiSquareTest:
    """A stratified power-divergence test, by default Pearson's chi-square.

    Attributes:
        power: λ of the statistic; 1 is Pearson's.
        statistic: Summed over strata; infinite if a cell of probability 0 was observed.
        dof: Degrees of freedom, Σ_s (cells of s - 1), after pooling and without cells that cannot occur.
        effective_size: h such that X² has noncentrality h · Σ_s w_s χ²_s when the law deviates: the number of
            draws in one sample, Σ_s n_s m_s / (n_s + m_s) in two.
        smallest_expected: Smallest expected count among cells that carry a degree of freedom; infinite if none.
        pooled_mass: Probability of the pooled cells, averaged over draws; what pooling can hide of a TV.
        impossible: Draws seen in cells of probability 0.
        monte_carlo: p-value by simulation or permutation, if draws were asked for.
    """

    power: float
    statistic: float
    dof: int
    effective_size: float
    smallest_expected: float
    pooled_mass: float
    impossible: int
    monte_carlo: MonteCarlo | None

    @property
    def asymptotic_p(self) -> float:
        """P(χ²_dof ≥ statistic); 1 without degrees of freedom, 0 if the statistic is infinite."""
        if self.impossible:
            return 0.0
        return float(chdtrc(self.dof, self.statistic)) if self.dof else 1.0

    def asymptotic_valid(self, alpha: float) -> bool:
        """Whether `asymptotic_p` may be compared with `alpha`: α ≥ .01 and every expected count ≥ 5.

        Even then its size at α = .001 would be 1.7 times the nominal one: use `monte_carlo` there.
        """
        return alpha >= _MIN_ASYMPTOTIC_ALPHA and self.smallest_expected >= MIN_EXPECTED


def divergence(
    tables: npt.NDArray[np.int64], expected: npt.NDArray[np.floating[Any]], power: float
) -> npt.NDArray[np.float64]:
    """The statistic of each table `[B, C]` against the expectations `[C]`, all positive, of the same total `[B]`.

    Raises:
        ValueError: the power is not finite and above -1, where an empty cell would make the statistic infinite.
    """
    if not -1 < power < np.inf:
        raise ValueError(f"a power divergence needs a finite power above -1, got {power}")
    if power == PEARSON:
        deviations = tables - expected
        pearson: npt.NDArray[np.float64] = np.square(deviations, out=deviations) @ (1 / expected)
        return pearson
    # boxcox(x, λ) is (x^λ - 1)/λ, or ln x at λ = 0; an empty cell adds nothing.
    ratios = np.where(tables > 0, tables / expected, 1.0)
    statistics: npt.NDArray[np.float64] = 2 / (power + 1) * (tables * boxcox(ratios, power)).sum(axis=-1)
    return statistics
