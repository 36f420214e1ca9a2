"""Bounds and intervals: of proportions, of ratios over windows, of paired times, of a percentile of latencies.

Of three averages of a speed-up only one is used: the geometric mean over blocks of paired times. It is the same
whichever arm is divided by which; the mean of ratios and the ratio of means are not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log1p

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, betainccinv, betaincinv, ndtri, stdtrit

MIN_WINDOWS = 20
"""Fewest windows for which an interval of a ratio is shown."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio with its confidence interval.

    Attributes:
        value: The ratio.
        low: Lower end, not clipped to any range.
        high: Upper end, not clipped to any range.
        confidence: Two-sided coverage, e.g. 0.99.
        windows: Windows or blocks the variance was estimated from.
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
    both = events + other_events
    # Weights of the hypergeometric law over its support, from the ratios of neighbours.
    least, most = max(0, both - other_trials), min(both, trials)
    k = np.arange(least, most, dtype=np.float64)
    ratios = (both - k) * (trials - k) / ((k + 1) * (other_trials - both + k + 1))
    logs = np.concatenate([np.zeros(1), np.log(ratios).cumsum()])
    weights = np.exp(logs - logs.max())
    return min(1.0, float(weights[events - least :].sum() / weights.sum()))


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
    _check_fraction(confidence, "confidence")
    ratio = y.sum() / x.sum()
    spread = np.sqrt(windows / (windows - 1) * np.square(y - ratio * x).sum()) / x.sum()
    half = _student(confidence, windows) * spread
    return Interval(
        value=float(ratio),
        low=float(ratio - half),
        high=float(ratio + half),
        confidence=confidence,
        windows=windows,
    )


def paired_ratio(base: npt.ArrayLike, treated: npt.ArrayLike, confidence: float) -> Interval:
    """Speed-up base/treated over blocks in which both arms ran, exp(D̄ ± t s/√B) with D_b = ln(base_b/treated_b).

    A block holds both arms under the same load, in the order ABBA, so that what drifts steadily (heat, caches, other
    tenants) falls on both alike; its times are the sums of each arm's runs. D is taken as normal, blocks as
    independent. A claim of a speed-up is refuted only if the upper end is below it.

    Args:
        base: Times without the treatment `[B]`, any unit.
        treated: Times with it `[B]`, the same prompts and output lengths.
        confidence: Two-sided coverage.

    Raises:
        ValueError: fewer than two blocks, unequal lengths, times that are not positive and finite, or a confidence not
            inside (0, 1).
    """
    before, after = np.asarray(base, dtype=np.float64), np.asarray(treated, dtype=np.float64)
    if before.ndim != 1 or before.shape != after.shape:
        raise ValueError(f"one time of each arm per block, got shapes {before.shape} and {after.shape}")
    if len(before) < 2:
        raise ValueError(f"{len(before)} blocks do not tell how much blocks differ, at least 2 are needed")
    if not (np.isfinite(before).all() and np.isfinite(after).all() and (before > 0).all() and (after > 0).all()):
        raise ValueError("times must be positive and finite")
    _check_fraction(confidence, "confidence")
    differences = np.log(before / after)
    centre = float(differences.mean())
    half = _student(confidence, len(before)) * float(differences.std(ddof=1)) / len(before) ** 0.5
    return Interval(
        value=exp(centre),
        low=exp(centre - half),
        high=exp(centre + half),
        confidence=confidence,
        windows=len(before),
    )


def blocks_needed(spread: float, gain: float, *, confidence: float, power: float) -> int:
    """Blocks with which a speed-up that is off by the factor 1 + gain leaves `paired_ratio`'s interval.

    The smallest B ≥ 2 with B ≥ ((t + z) s / ln(1 + gain))², t at B - 1 degrees of freedom.

    Args:
        spread: s, standard deviation of ln(base/treated) between blocks, from a pilot.
        gain: Relative difference to be seen, e.g. 0.05.
        confidence: Two-sided coverage of the interval.
        power: Wanted probability of seeing it.

    Raises:
        ValueError: the spread is negative or not finite, the gain not positive and finite, or a probability not inside
            (0, 1).
    """
    if not (0 <= spread < np.inf and 0 < gain < np.inf):
        raise ValueError(f"a spread of {spread} and a gain of {gain} plan nothing")
    _check_fraction(confidence, "confidence")
    _check_fraction(power, "power")
    z = float(ndtri(power))

    def enough(blocks: int) -> bool:
        return bool(blocks >= (max(0.0, _student(confidence, blocks) + z) * spread / log1p(gain)) ** 2)

    return _smallest(enough, 2)


def overlatency_allowed(queries: int, percentile: float, *, confidence: float = 0.99) -> int | None:
    """Queries that may exceed a latency limit while it still is shown to hold for the given share of queries.

    The early stopping of MLPerf Inference, at its tolerance 0: t of n queries over the limit are allowed if so few
    would be seen with probability 1 - c at most, were the share of queries within the limit below p, that is if
    P(Bin(n, 1 - p) ≤ t) = I_p(n - t, t + 1) ≤ 1 - c. Queries are taken as independent.

    Args:
        queries: n.
        percentile: p, e.g. 0.99.
        confidence: c; 0.99 in the rules.

    Returns:
        The largest such t, or None if n is too small even for none: 44 queries are needed at p = .9, 459 at .99.

    Raises:
        ValueError: there is no query, or the percentile or confidence is not inside (0, 1).
    """
    _check_latency(percentile, confidence)
    if queries < 1:
        raise ValueError("a percentile of no queries is not known")
    allowed = np.searchsorted(bdtr(np.arange(queries + 1), queries, 1 - percentile), 1 - confidence, side="right") - 1
    return int(allowed) if allowed >= 0 else None


def queries_needed(overlatency: int, percentile: float, *, confidence: float = 0.99) -> int:
    """Fewest queries at which so many over the limit are allowed: 64 for one at p = .9, 662 at p = .99.

    Raises:
        ValueError: the number is negative, or the percentile or confidence is not inside (0, 1).
    """
    _check_latency(percentile, confidence)
    if overlatency < 0:
        raise ValueError(f"{overlatency} queries over the limit cannot be")
    return _smallest(lambda n: bool(bdtr(overlatency, n, 1 - percentile) <= 1 - confidence), overlatency + 1)


def percentile_upper(latencies: npt.ArrayLike, percentile: float, *, confidence: float = 0.99) -> float | None:
    """Upper confidence bound of a percentile of latencies, for every continuous law: an order statistic.

    With t queries allowed over a limit it is the (t+1)-th highest latency, since that is below the percentile only if t
    or fewer are above it. MLPerf reports the t-th highest, one step more than is needed.

    Args:
        latencies: Of independent queries `[N]`, any unit.
        percentile: p, e.g. 0.99.
        confidence: c.

    Returns:
        The bound, or None if there are too few queries for any.

    Raises:
        ValueError: there is no query, a latency is NaN, or the percentile or confidence is not inside (0, 1).
    """
    times = np.asarray(latencies, dtype=np.float64)
    if times.ndim != 1 or np.isnan(times).any():
        raise ValueError("latencies must be numbers of shape [N]")
    allowed = overlatency_allowed(len(times), percentile, confidence=confidence)
    return None if allowed is None else float(np.sort(times)[-1 - allowed])


def _student(confidence: float, blocks: int) -> float:
    return float(stdtrit(blocks - 1, (1 + confidence) / 2))


def _smallest(enough: Callable[[int], bool], least: int) -> int:
    """The smallest number from `least` on that is enough, if every larger one is too."""
    high = least
    while not enough(high):
        least, high = high + 1, 2 * high
    while least < high:
        middle = (least + high) // 2
        least, high = (least, middle) if enough(middle) else (middle + 1, high)
    return high


def _check_latency(percentile: float, confidence: float) -> None:
    _check_fraction(percentile, "percentile")
    _check_fraction(confidence, "confidence")


def _check_fraction(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be inside (0, 1), got {value}")


def _check_proportion(events: int, trials: int, delta: float = 0.5) -> None:
    if trials < 1 or not 0 <= events <= trials:
        raise ValueError(f"{events} events in {trials} trials is no proportion")
    _check_fraction(delta, "delta")
