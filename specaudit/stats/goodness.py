"""One sample against known laws: the stratified Pearson chi-square test, or another power divergence.

H0: in stratum s the n_s draws are independent from the law p_s. X² = Σ_s Σ_c (N_sc - n_s p_sc)² / (n_s p_sc)
(Pearson 1900) is then asymptotically χ² with Σ_s (C_s - 1) degrees of freedom, and so are the power divergences of
`chisquare`. Cells are pooled by what the law expects, never by what was seen, so that pooling is part of the null and
leaves every p-value valid.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specaudit.stats.chisquare import MIN_EXPECTED, PEARSON, ChiSquareTest, divergence
from specaudit.stats.montecarlo import monte_carlo
from specaudit.stats.strata import Counts, Law, Strata, sampled


@dataclass(frozen=True, kw_only=True)
class _Stratum:
    counts: Counts
    law: Law
    size: int
    pooled_mass: float
    impossible: int

    @property
    def expected(self) -> npt.NDArray[np.float64]:
        return self.size * self.law

    def statistic(self, tables: npt.NDArray[np.int64], power: float) -> npt.NDArray[np.float64]:
        """The divergence of each table `[B, C]`."""
        return divergence(tables, self.expected, power)


def goodness_of_fit(
    counts: Strata,
    laws: Strata,
    *,
    power: float = PEARSON,
    min_expected: float = MIN_EXPECTED,
    draws: int = 0,
    stop_after: int | None = None,
    rng: np.random.Generator | None = None,
) -> ChiSquareTest:
    """Test counts against known laws, stratum by stratum.

    Args:
        counts: Draws per cell, `[S, C]` or S arrays `[C_s]`; strata without draws are passed over.
        laws: The pmf of each stratum, of the same shape.
        power: λ of the statistic, above -1: 1 for Pearson's X², 0 for G, 2/3 for Cressie and Read's.
        min_expected: Cells expecting fewer draws are lumped into one per stratum, together with as many of
            the next smallest as bring the lump up to it; 0 pools nothing. A stratum that
            ends as one cell has no degree of freedom.
        draws: Monte Carlo draws, m; 0 for none. An audit needs m ≥ 10 · checks / α.
        stop_after: Exceedances after which Monte Carlo stops (Besag–Clifford); None makes all draws.
        rng: Generator of the Monte Carlo draws.

    Raises:
        ValueError: bad or empty counts, laws that do not match them, a power or `min_expected` that is none, or
            draws without `rng`.
    """
    if not min_expected >= 0:
        raise ValueError(f"min_expected must be 0 or more, got {min_expected}")
    strata = [_pooled(row, law, min_expected) for row, law in sampled(counts, laws)]
    impossible = sum(s.impossible for s in strata)
    statistic = np.inf if impossible else float(sum(s.statistic(s.counts[None], power).item() for s in strata))
    size = sum(s.size for s in strata)
    simulated = None
    if draws:
        if rng is None:
            raise ValueError("Monte Carlo draws need a random generator")
        simulated = monte_carlo(
            statistic,
            lambda batch: _null_statistics(strata, batch, power, rng),
            draws=draws,
            stop_after=stop_after,
            cells=max(len(s.law) for s in strata),
        )
    return ChiSquareTest(
        power=power,
        statistic=statistic,
        dof=sum(len(s.law) - 1 for s in strata),
        effective_size=float(size),
        smallest_expected=min((float(s.expected.min()) for s in strata if len(s.law) > 1), default=np.inf),
        pooled_mass=sum(s.size * s.pooled_mass for s in strata) / size,
        impossible=impossible,
        monte_carlo=simulated,
    )


def _pooled(counts: Counts, law: Law, min_expected: float) -> _Stratum:
    """Drop cells that cannot occur, lump those that expect too little."""
    size = int(counts.sum())
    possible = np.flatnonzero(law)
    ascending = possible[np.argsort(law[possible], kind="stable")]
    expected = size * law[ascending]
    lumped = int(np.count_nonzero(expected < min_expected))
    if lumped:
        reached = int(np.searchsorted(np.cumsum(expected), min_expected)) + 1
        lumped = min(max(lumped, reached), len(ascending))
    # The largest cells first: numpy draws a multinomial cell by cell and ends when nothing is left.
    tail, kept = ascending[:lumped], ascending[lumped:][::-1]
    lump = slice(0, 1 if lumped else 0)
    return _Stratum(
        counts=np.concatenate([counts[kept], counts[tail].sum(keepdims=True)[lump]]),
        # Cells that sum to 1 may do so with a rounding error when they are added in another order.
        law=np.concatenate([law[kept], np.minimum(1.0, law[tail].sum(keepdims=True))[lump]]),
        size=size,
        pooled_mass=float(law[tail].sum()) if lumped > 1 else 0.0,
        impossible=size - int(counts[possible].sum()),
    )


def _null_statistics(
    strata: Sequence[_Stratum], batch: int, power: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Statistics of `batch` independent tables under the null `[B]`, one stratum in memory at a time."""
    total = np.zeros(batch)
    for s in strata:
        total += s.statistic(rng.multinomial(s.size, s.law, size=batch), power)
    return total
