"""What a stratified Pearson chi-square test leaves behind, of one sample (`goodness`) or two (`homogeneity`)."""

from dataclasses import dataclass

from scipy.special import chdtrc

from specaudit.stats.montecarlo import MonteCarlo

MIN_EXPECTED = 5.0
"""Smallest expected count at which the chi-square law describes a cell (Cochran 1954)."""

_MIN_ASYMPTOTIC_ALPHA = 0.01


@dataclass(frozen=True, kw_only=True)
class ChiSquareTest:
    """A stratified Pearson chi-square test.

    Attributes:
        statistic: X², summed over strata; infinite if a cell of probability 0 was observed.
        dof: Degrees of freedom, Σ_s (cells of s - 1), after pooling and without cells that cannot occur.
        effective_size: h such that X² has noncentrality h · Σ_s w_s χ²_s when the law deviates: the number of
            draws in one sample, Σ_s n_s m_s / (n_s + m_s) in two.
        smallest_expected: Smallest expected count among cells that carry a degree of freedom; infinite if none.
        pooled_mass: Probability of the pooled cells, averaged over draws; what pooling can hide of a TV.
        impossible: Draws seen in cells of probability 0.
        monte_carlo: p-value by simulation or permutation, if draws were asked for.
    """

    statistic: float
    dof: int
    effective_size: float
    smallest_expected: float
    pooled_mass: float
    impossible: int
    monte_carlo: MonteCarlo | None

    @property
    def asymptotic_p(self) -> float:
        """P(χ²_dof ≥ X²); 1 without degrees of freedom, 0 if the statistic is infinite."""
        if self.impossible:
            return 0.0
        return float(chdtrc(self.dof, self.statistic)) if self.dof else 1.0

    def asymptotic_valid(self, alpha: float) -> bool:
        """Whether `asymptotic_p` may be compared with `alpha`: α ≥ .01 and every expected count ≥ 5.

        Even then its size at α = .001 would be 1.7 times the nominal one: use `monte_carlo` there.
        """
        return alpha >= _MIN_ASYMPTOTIC_ALPHA and self.smallest_expected >= MIN_EXPECTED
