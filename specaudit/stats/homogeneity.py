"""Two samples, no law: the stratified test of homogeneity, Pearson's or a power divergence, by permutation.

H0: in stratum s both arms draw independently from one unknown law. With arms of n and m draws, N = n + m
and K_c draws of both arms in cell c, X² = Σ_s Σ_c N²/(n m K_c) · (x_c - n K_c/N)² is asymptotically χ² with
Σ_s (C_s - 1) degrees of freedom, C_s counting the cells seen at all; another power divergence is summed over both
arms. Given the totals K, the first arm's counts are multivariate hypergeometric whatever the law, so that permuting
draws between arms within each stratum gives an exact test (Lehmann and Romano, ch. 17).

Cells must be chosen beforehand (known law, pilot sample) or by the totals K alone, never by one arm's counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from specaudit.stats.chisquare import PEARSON, ChiSquareTest, divergence
from specaudit.stats.montecarlo import monte_carlo
from specaudit.stats.strata import Counts, Strata, paired

_DRAWS_WORTH_A_CELL = 10
"""numpy's `count` takes about 9 ns per draw of the arm, `marginals` 100 ns per cell or more."""


@dataclass(frozen=True, kw_only=True)
class _Stratum:
    counts: Counts
    totals: Counts
    size: int
    other_size: int

    @property
    def method(self) -> Literal["count", "marginals"]:
        return "count" if self.size < _DRAWS_WORTH_A_CELL * len(self.totals) else "marginals"

    def statistic(self, tables: npt.NDArray[np.int64], power: float) -> npt.NDArray[np.float64]:
        """The divergence of each table `[B, C]` of the smaller arm's counts, and of what is left to the larger."""
        share = self.size / (self.size + self.other_size)
        statistics = divergence(tables, self.totals * share, power)
        if power == PEARSON:
            statistics /= 1 - share  # both arms deviate by the same counts
        else:
            statistics += divergence(self.totals - tables, self.totals * (1 - share), power)
        return statistics


def homogeneity(
    first: Strata,
    second: Strata,
    *,
    power: float = PEARSON,
    draws: int = 0,
    stop_after: int | None = None,
    rng: np.random.Generator | None = None,
) -> ChiSquareTest:
    """Test whether two arms share their law in every stratum.

    Args:
        first: Draws per cell of one arm, `[S, C]` or S arrays `[C_s]`.
        second: The same cells in the other arm. Strata that either arm left empty are passed over, cells
            that neither arm saw are dropped.
        power: λ of the statistic, above -1: 1 for Pearson's X², 0 for G, 2/3 for Cressie and Read's.
        draws: Permutations, m; 0 for none. An audit needs m ≥ 10 · checks / α.
        stop_after: Exceedances after which permuting stops (Besag–Clifford); None makes all draws.
        rng: Generator of the permutations.

    Raises:
        ValueError: bad counts, arms that do not match, no stratum with both arms, a power that is none, or draws
            without `rng`.
    """
    strata = [_stratum(x, y) for x, y in paired(first, second)]
    statistic = float(sum(s.statistic(s.counts[None], power).item() for s in strata))
    permuted = None
    if draws:
        if rng is None:
            raise ValueError("permutations need a random generator")
        permuted = monte_carlo(
            statistic,
            lambda batch: _permuted_statistics(strata, batch, power, rng),
            draws=draws,
            stop_after=stop_after,
            cells=max(len(s.totals) for s in strata),
        )
    return ChiSquareTest(
        power=power,
        statistic=statistic,
        dof=sum(len(s.totals) - 1 for s in strata),
        effective_size=sum(s.size * s.other_size / (s.size + s.other_size) for s in strata),
        smallest_expected=min(
            (s.size / (s.size + s.other_size) * int(s.totals.min()) for s in strata if len(s.totals) > 1),
            default=np.inf,
        ),
        pooled_mass=0.0,
        impossible=0,
        monte_carlo=permuted,
    )


def _stratum(first: Counts, second: Counts) -> _Stratum:
    """The smaller arm, which is the cheaper one to permute; the statistic does not tell the arms apart."""
    seen = first + second > 0
    small, large = sorted((first[seen], second[seen]), key=lambda arm: int(arm.sum()))
    return _Stratum(counts=small, totals=small + large, size=int(small.sum()), other_size=int(large.sum()))


def _permuted_statistics(
    strata: Sequence[_Stratum], batch: int, power: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Statistics of `batch` random reassignments of draws to arms `[B]`, one stratum in memory at a time."""
    total = np.zeros(batch)
    for s in strata:
        tables = rng.multivariate_hypergeometric(s.totals, s.size, size=batch, method=s.method)
        total += s.statistic(tables, power)
    return total
