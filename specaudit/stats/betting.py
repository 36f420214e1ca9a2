"""Confidence sequences for the mean of bounded values, by betting: valid at all times at once.

Values x_t in [0, 1] have the conditional mean μ, given everything before; they need be neither independent nor alike.
If μ ≤ m, the capital K_t(m) = Π_{s≤t} (1 + λ_s (x_s - m)) with 0 ≤ λ_s < 1/m chosen beforehand is a nonnegative
supermartingale, so by Ville's inequality all m with sup_s K_s(m) ≥ 1/δ may be excluded: the mean is above them. Every
factor decreases in m, hence so does the supremum, and the excluded m are an interval that begins at 0; its end is found
by bisection. An upper bound is the lower one of 1 - x; two sides cost δ/2 each.

Bets are the predictable plug-in of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
JRSS-B 2024, section 4.3: λ_t = √(2 ln(1/δ) / (σ̂²_{t-1} t ln(1 + t))), cut off at 1/(2m).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

_LARGEST_SHARE = 0.5
_HALVINGS = 40


@dataclass(frozen=True, kw_only=True)
class MeanInterval:
    """A confidence interval for a mean that holds at every sample size at once.

    Attributes:
        estimate: Mean of the values.
        low: Lower end, the best over all sample sizes so far.
        high: Upper end, likewise.
        size: Number of values.
    """

    estimate: float
    low: float
    high: float
    size: int


def mean_interval(values: npt.ArrayLike, delta: float) -> MeanInterval:
    """Anytime interval that fails to hold the mean, ever, with probability at most δ.

    Args:
        values: In their order `[N]`, each in [0, 1].
        delta: Error probability, half of it at each end.

    Raises:
        ValueError: there are no values, one is outside [0, 1] or NaN, or δ is not inside (0, 1).
    """
    x = _checked(values)
    return MeanInterval(
        estimate=float(x.mean()),
        low=mean_lower_bound(x, delta / 2),
        high=1 - mean_lower_bound(1 - x, delta / 2),
        size=len(x),
    )


def mean_lower_bound(values: npt.ArrayLike, delta: float) -> float:
    """Anytime lower bound of the mean of values in [0, 1] `[N]`; exceeds it, ever, with probability at most δ.

    If the conditional means differ it bounds the largest of them.

    Raises:
        ValueError: there are no values, one is outside [0, 1] or NaN, or δ is not inside (0, 1).
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must be inside (0, 1), got {delta}")
    x = _checked(values)
    stakes, wanted = _stakes(x, delta), np.log(1 / delta)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        gains = np.log1p(np.minimum(stakes, _LARGEST_SHARE / middle) * (x - middle))
        if np.cumsum(gains).max() >= wanted:
            low = middle
        else:
            high = middle
    return low


def _stakes(x: _Array, delta: float) -> _Array:
    """λ_t before the cut-off, from the values before t `[N]`."""
    t = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    stakes: _Array = np.sqrt(2 * np.log(1 / delta) / (before * t * np.log1p(t)))
    return stakes


def _checked(values: npt.ArrayLike) -> _Array:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size:
        raise ValueError(f"a mean needs values of shape [N], at least one, got {list(x.shape)}")
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError("values must be in [0, 1] to bet on their mean")
    return x
