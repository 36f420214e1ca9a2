"""From factors of tokens to one e-value per group: products along a completion, the mean over what may be dependent."""

import numpy as np
import numpy.typing as npt

from specaudit.stats.evalues.contexts import Completions, Indices

_Array = npt.NDArray[np.float64]


def group_log_values(log_factors: _Array, floor: _Array, completions: Completions) -> _Array:
    """Log e-value of each group and component `[G, J]`.

    The value of a completion is the product of its factors, and for each token lost the smallest factor there could
    have been: whatever was lost, the true product is at least that. Values of completions in one group are averaged,
    which needs no independence among them.

    Args:
        log_factors: Per token `[N, J]`.
        floor: Smallest log factor that a lost token could have had, per component `[J]` or group `[G, J]`.
        completions: Which tokens belong together, and how many were lost.
    """
    sums = _segment_sums(log_factors, completions.lengths)
    if completions.lost.any():
        group = np.repeat(np.arange(len(completions.groups)), completions.groups)
        floors = np.broadcast_to(floor, (len(completions.groups), log_factors.shape[1]))
        sums += completions.lost[:, None] * floors[group]
    return mean_of_groups(sums, completions.groups)


def mean_of_groups(log_values: _Array, groups: Indices) -> _Array:
    """Log of the mean of the values in each group, `[R, J]` to `[G, J]`."""
    if len(groups) == len(log_values):
        return log_values
    means: _Array = np.logaddexp.reduceat(log_values, np.cumsum(groups) - groups, axis=0)
    return means - np.log(groups)[:, None]


def _segment_sums(values: _Array, lengths: Indices) -> _Array:
    """Sums of consecutive rows, `lengths[r]` of them each, `[N, J]` to `[R, J]`; 0 where there are none."""
    sums = np.zeros((len(lengths), values.shape[1]))
    filled = np.flatnonzero(lengths)
    if filled.size:
        sums[filled] = np.add.reduceat(values, (np.cumsum(lengths) - lengths)[filled], axis=0)
    return sums
