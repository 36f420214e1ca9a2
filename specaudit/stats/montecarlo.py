"""Monte Carlo p-values, of a fixed number of draws or stopped as soon as the answer is clear.

Phipson and Smyth (2010): with b of m draws from the null at least as large as the observed statistic,
(b+1)/(m+1) is a valid p-value for every m; b/m is not.

Besag and Clifford (1991): draw until the h-th exceedance. If it comes at draw l, p = h/l; if m draws pass
without it, p = (b+1)/(m+1). Valid as well: p ≤ h/l means that of l - 1 null draws and the observed statistic
at most h reach as high as the latter, which exchangeability allows with probability at most h/l. A
subject that conforms costs about 2h draws instead of m.

Of a fixed number of draws, with b of them above the observed statistic, t equal to it and u uniform on (0, 1),
(b + u (t+1))/(m+1) is exactly uniform under the null, however discrete the statistic: ties are broken at random. It
decides nothing; that it is uniform over many null audits is how a test is calibrated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_FIRST_BATCH = 64
_BATCH_ELEMENTS = 1 << 20
_TIE = 1e-9


@dataclass(frozen=True, kw_only=True)
class MonteCarlo:
    """A Monte Carlo p-value.

    Attributes:
        p_value: Valid at every level; 0 only for an observation the null cannot produce at all.
        draws: Null draws made.
        exceedances: Draws whose statistic was at least the observed one.
        ties: Draws among them whose statistic was the observed one; None if drawing stopped early.
    """

    p_value: float
    draws: int
    exceedances: int
    ties: int | None

    def randomised_p(self, uniform: float) -> float:
        """The p-value that is exactly uniform under the null, given a number drawn uniformly from (0, 1).

        Raises:
            ValueError: drawing stopped early, or the number is not in [0, 1].
        """
        if self.ties is None or not 0 <= uniform <= 1:
            raise ValueError("a randomised p-value needs a fixed number of draws and a uniform number in [0, 1]")
        if self.draws == 0:
            return self.p_value
        return (self.exceedances - self.ties + uniform * (self.ties + 1)) / (self.draws + 1)


def monte_carlo(
    observed: float,
    simulate: Callable[[int], npt.NDArray[np.float64]],
    *,
    draws: int,
    stop_after: int | None,
    cells: int,
) -> MonteCarlo:
    """Compare `observed` with statistics drawn under the null; large values count against it.

    Args:
        observed: The statistic under test; infinity if the null cannot produce what was seen.
        simulate: Gives that many independent null statistics `[B]`.
        draws: Most draws to make, m. To reach level α, m ≥ 1/α - 1.
        stop_after: Exceedances to stop after, h; None always makes m draws.
        cells: Cells of the largest table drawn; bounds the memory of a batch to about 8 MB.

    Raises:
        ValueError: `draws` or `stop_after` is below 1, or the statistic is NaN.
    """
    if np.isnan(observed):
        raise ValueError("the observed statistic is not a number")
    if draws < 1 or (stop_after is not None and stop_after < 1):
        raise ValueError("draws and stop_after must be at least 1")
    if np.isinf(observed):
        return MonteCarlo(p_value=0.0, draws=0, exceedances=0, ties=0)
    # Equal tables may differ in the last bits of their statistic; a tie counts as an exceedance.
    slack = _TIE * max(1.0, abs(observed))
    largest = max(1, _BATCH_ELEMENTS // cells)
    batch = largest if stop_after is None else min(largest, _FIRST_BATCH)
    made = exceedances = ties = 0
    while made < draws:
        size = min(batch, draws - made)
        excess = simulate(size) - observed
        hits = np.flatnonzero(excess >= -slack)
        if stop_after is not None and exceedances + len(hits) >= stop_after:
            last = made + int(hits[stop_after - exceedances - 1]) + 1
            return MonteCarlo(p_value=stop_after / last, draws=last, exceedances=stop_after, ties=None)
        made, exceedances, batch = made + size, exceedances + len(hits), min(2 * batch, largest)
        ties += int(np.count_nonzero(np.abs(excess) <= slack))
    return MonteCarlo(p_value=(exceedances + 1) / (draws + 1), draws=draws, exceedances=exceedances, ties=ties)
