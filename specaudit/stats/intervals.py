"""Bounds and intervals for proportions and ratios, and the exact test of two proportions."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, stdtrit

MIN_WINDOWS = 20
"""Fewest windows for which an interval of a ratio is shown."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio of totals with its confidence interval.

    Attributes:
        value: Σ numerators / Σ denominators.
        low: Lower end, not clipped to any range.
        high: Upper end, not clipped to any range.
        confidence: Two-sided coverage, e.g. 0.99.
        windows: Windows the variance was estimated from.
    """

    value: float
    low: float
    high: float
    confidence: float
    windows: int


def proportion_lower(events: int, trials: int, delta: float) -> float:
    """Exact one-sided lower bound of a probability at level 1 - δ (Clopper and Pearson 1934).

    Raises:
        ValueError: not 0 ≤ events ≤ trials, no trials, or δ not inside (0, 1).
    """
    _check_proportion(events, trials, delta)
    return float(betaincinv(events, trials - events + 1, delta)) if events else 0.0


def proportion_upper(events: int, trials: int, delta: float) -> float:
    """Exact one-sided upper bound of a probability at level 1 - δ (Clopper and Pearson 1934).

    Without events it is 1 - δ^(1/N): 6.9/N at δ = .001.

    Raises:
        ValueError: not 0 ≤ events ≤ trials, no trials, or δ not inside (0, 1).
    """
    _check_proportion(events, trials, delta)
    return float(betainccinv(events + 1, trials - events, delta)) if events < trials else 1.0


def excess_p(events: int, trials: int, other_events: int, other_trials: int) -> float:
    """Exact p-value against `events / trials` being no likelier than `other_events / other_trials`.

    Fisher's one-sided test of a 2 × 2 table: given all events, how many would fall among the first trials by chance.
    It decides, say, whether copies occur within a request more often than across requests, provided that
    trials are independent: pairs that share a completion are not.

    Raises:
        ValueError: events outside 0 … trials on either side, or a side without trials.
    """
    _check_proportion(events, trials)
    _check_proportion(other_events, other_trials)
    from scipy.stats import fisher_exact

    table = np.array([[events, trials - events], [other_events, other_trials - other_events]])
    return float(fisher_exact(table, alternative="greater").pvalue)


def ratio_interval(numerators: npt.ArrayLike, denominators: npt.ArrayLike, confidence: float) -> Interval:
    """Ratio of totals over windows, with an interval clustered by window.

    The ratio estimator R = Σ y / Σ x has variance W/(W-1) Σ_w (y_w - R x_w)² / (Σ x)² by linearisation (Cochran,
    Sampling Techniques, ch. 6), with t quantiles at W - 1 degrees of freedom. Windows must be independent of
    each other; within a window, steps may depend on each other at will.

    Args:
        numerators: y, e.g. accepted tokens per window `[W]`.
        denominators: x, e.g. drafts per window `[W]`; a window without any is allowed.
        confidence: Two-sided coverage.

    Raises:
        ValueError: fewer than 20 windows, unequal lengths, values that are not finite, negative denominators or
            none at all, or a confidence not inside (0, 1).
    """
    y, x = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    if y.ndim != 1 or y.shape != x.shape:
        raise ValueError(f"one numerator and one denominator per window, got shapes {y.shape} and {x.shape}")
    windows = len(y)
    if windows < MIN_WINDOWS:
        raise ValueError(f"{windows} windows are too few for an interval, {MIN_WINDOWS} are needed")
    if not (np.isfinite(y).all() and np.isfinite(x).all() and (x >= 0).all() and x.any()):
        raise ValueError("windows hold values that are not finite, or denominators that are negative or all zero")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be inside (0, 1), got {confidence}")
    ratio = y.sum() / x.sum()
    spread = np.sqrt(windows / (windows - 1) * np.square(y - ratio * x).sum()) / x.sum()
    half = stdtrit(windows - 1, (1 + confidence) / 2) * spread
    return Interval(
        value=float(ratio),
        low=float(ratio - half),
        high=float(ratio + half),
        confidence=confidence,
        windows=windows,
    )


def _check_proportion(events: int, trials: int, delta: float = 0.5) -> None:
    if trials < 1 or not 0 <= events <= trials:
        raise ValueError(f"{events} events in {trials} trials is no proportion")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be inside (0, 1), got {delta}")
