"""A lower bound of total variation that holds at all times: betting on a witness set chosen beforehand.

For every set B of cells TV ≥ r(B) - p(B), r being the subject's law; equality holds for the cells with r > p. Let B_t
be chosen from what was seen before t: the cells seen more often than p expects. Then z_t = 1[x_t ∈ B_t] - p(B_t) has
a conditional mean of at most TV, and a betting lower bound of its mean (`specaudit.stats.betting`) bounds TV.
With several strata a round holds one draw of each, and z_t is their weighted mean: the weighted mean TV is bounded.
"""

import numpy as np
import numpy.typing as npt

from specaudit.stats.betting import mean_lower_bound
from specaudit.stats.evalues.contexts import Indices
from specaudit.stats.strata import Law, Strata, check_counts, check_laws

_GROWTH = 1.1
"""Sets are chosen anew whenever the sample has grown by a tenth."""


def anytime_tv_lower_bound(
    cells: npt.NDArray[np.integer], laws: Strata, *, delta: float, weights: npt.ArrayLike | None = None
) -> float:
    """Lower bound of the weighted mean TV over strata; exceeds it, ever, with probability at most δ.

    Args:
        cells: Cell of the draw from each stratum in each round `[R, S]`, rounds in the order of the plan.
        laws: The law of each stratum, `[S, C]` or S arrays `[C_s]`.
        delta: Error probability.
        weights: Weight of each stratum `[S]`, summing to 1; even by default.

    Raises:
        ValueError: there are no rounds, a draw is in no cell, a law is none, weights do not sum to 1, or δ is not
            inside (0, 1).
    """
    checked = check_laws(laws, check_counts([np.zeros(np.shape(law)) for law in laws]))
    table = np.asarray(cells)
    if table.ndim != 2 or not len(table) or table.shape[1] != len(checked):
        raise ValueError(f"draws must be [R, {len(checked)}] with at least one round, got {list(table.shape)}")
    if ((table < 0) | (table >= np.array([len(law) for law in checked]))).any():
        raise ValueError("a draw is in no cell of its law")
    shares = np.full(len(checked), 1 / len(checked)) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (len(checked),) or not (shares >= 0).all() or not abs(shares.sum() - 1) < 1e-9:
        raise ValueError(f"weights must be {len(checked)} shares that sum to 1, got {shares.tolist()}")
    excess = np.stack([_excess(table[:, s], law) for s, law in enumerate(checked)], axis=1) @ shares
    # Rounding may carry a mean of ones past 1.
    return max(0.0, 2 * mean_lower_bound(np.clip((1 + excess) / 2, 0, 1), delta) - 1)


def _excess(cells: Indices, law: Law) -> npt.NDArray[np.float64]:
    """1[x ∈ B] - p(B) of every draw `[R]`."""
    rounds = np.arange(len(cells))
    last = int(np.log(len(cells)) / np.log(_GROWTH)) + 1
    renewed = np.unique((_GROWTH ** np.arange(last + 1)).astype(np.intp))
    period = np.searchsorted(renewed, rounds, side="right")
    seen = np.bincount(period * len(law) + cells, minlength=(len(renewed) + 1) * len(law))
    earlier = np.cumsum(seen.reshape(-1, len(law)), axis=0)
    earlier = np.concatenate([np.zeros((1, len(law)), dtype=earlier.dtype), earlier[:-1]])
    chosen = earlier > earlier.sum(axis=1, keepdims=True) * law
    excess: npt.NDArray[np.float64] = chosen[period, cells] - (chosen @ law)[period]
    return excess
