"""Near-tie triage: which divergences of greedy decoding are numeric noise, and which are not.

What the subject emitted is teacher-forced through the reference, each token in its own context. The *gap* of a position
is logprob(top 1) - logprob(emitted): 0 where the argmax was emitted or a token exactly as likely, since of an exact tie
either choice is right. The *margin* is logprob(top 1) - logprob(top 2), which is known before the token is. A position
with a positive gap is a flip. The reference does not agree with itself: batch width and kernels move logits a little,
and where the margin is small, the argmax flips. How often is measured on a plain replay arm, by bins of the margin: the
*floor*.

- HARD: a gap above the last limit, 2 nats unless declared otherwise. That noise does not reach so far is an assumption.
- SOFT: more flips than the floor's upper confidence bound allows. In each bin, flips are bet on at rates r above the
  bound u: (r/u)^flips ((1-r)/(1-u))^keeps has mean 1 at most as long as a flip's probability, given all before, is at
  most u. Averaged over a geometric grid of rates between u and 1, half of the stake kept aside, and multiplied over
  bins (a position's bin is known before its token), this is an e-process. It rejects when it exceeds 1/(α - δ), δ being
  what the floor's bounds may fail with.
- NUMERIC: everything else.

A verifier scores K+1 positions at once, and wider batches flip more: a soft excess over a floor that was not measured
at that width may be the width's doing. Source of the process: Ramdas, Grünwald, Vovk, Shafer 2023.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv

from specaudit.stats.budget import anytime_p
from specaudit.stats.intervals import proportion_lower, proportion_upper

LIMITS = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0)
"""Upper ends of the margin's bins in nats; the last is the gap from which on a flip is no numeric accident."""

_RATES = 8
"""Rates bet on in a bin; the reciprocal of their spacing on a logarithmic scale."""

_Array = npt.NDArray[np.float64]
_Counts = npt.NDArray[np.int64]


class Divergence(StrEnum):
    """What flips add up to."""

    HARD = "hard"
    SOFT = "soft"
    NUMERIC = "numeric"


@dataclass(frozen=True, kw_only=True, eq=False)
class FlipFloor:
    """How often plain greedy decoding disagrees with itself, by bins of the margin.

    Attributes:
        limits: Upper ends of the bins in nats `[B]`, included in them.
        flips: Positions whose argmax flipped `[B]`.
        trials: Positions `[B]`. Bins without any allow every flip.
    """

    limits: tuple[float, ...]
    flips: _Counts
    trials: _Counts

    def upper(self, delta: float) -> _Array:
        """Upper confidence bounds of the flip rates `[B]`, which all hold with probability 1 - δ.

        Clopper and Pearson's, at δ/B each. Positions are taken as independent trials of one rate.

        Raises:
            ValueError: δ is not inside (0, 1).
        """
        if not 0 < delta < 1:
            raise ValueError(f"delta must be inside (0, 1), got {delta}")
        some = self.trials > self.flips
        kept = np.where(some, self.trials - self.flips, 1)
        return np.where(some, betainccinv(self.flips + 1, kept, delta / len(self.limits)), 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Triage:
    """What a subject's flips are, given a floor.

    Attributes:
        kind: HARD if any flip is, else SOFT if there are too many, else NUMERIC.
        hard: Indices of the positions with a hard flip, ascending `[H]`.
        flips: Flips by bin of the margin `[B]`.
        trials: Positions by bin `[B]`; those with a larger margin, where every flip is hard, are in none.
        allowed: The floor's upper bounds of the flip rates `[B]`.
        e_value: The largest that the process against these bounds came to, in the order of the positions.
        p_value: δ + 1/E, valid at every time: against flips being no likelier than in plain decoding.
    """

    kind: Divergence
    hard: _Counts
    flips: _Counts
    trials: _Counts
    allowed: _Array
    e_value: float
    p_value: float


def flip_floor(gaps: npt.ArrayLike, margins: npt.ArrayLike, limits: Sequence[float] = LIMITS) -> FlipFloor:
    """Count the flips of a plain replay arm.

    Args:
        gaps: Of every position teacher-forced through the reference, in nats `[N]`.
        margins: Of the same positions `[N]`.
        limits: Upper ends of the bins, ascending.

    Raises:
        ValueError: gaps or margins are negative, NaN or of unequal length, or the limits do not ascend.
    """
    flips, bins = _positions(gaps, margins, limits)
    return FlipFloor(
        limits=tuple(limits),
        flips=_count(bins[flips], len(limits)),
        trials=_count(bins, len(limits)),
    )


def triage(gaps: npt.ArrayLike, margins: npt.ArrayLike, floors: Sequence[FlipFloor], alpha: float) -> Triage:
    """Tell whether a subject's greedy divergences are hard, too many, or what plain decoding does as well.

    Half of α is spent on the floors' bounds and half on the process. Of several floors, measured in circumstances that
    move logits in different ways, the highest bound of each bin counts.

    Args:
        gaps: Of every emitted token in its own context, in nats and in the order of the plan `[N]`; infinite where the
            reference gives the token no chance.
        margins: Of the same positions `[N]`.
        floors: Of a replay arm, at least one, with the same limits; a soft excess says something of the verifier only
            if one of them was measured at width K+1.
        alpha: Probability with which flips no likelier than in the floor may be called soft.

    Raises:
        ValueError: gaps or margins are negative, NaN or of unequal length, α is not inside (0, 1), or the floors have
            not the same limits.
    """
    if len({floor.limits for floor in floors}) != 1:
        raise ValueError("triage needs floors with the same limits")
    limits = floors[0].limits
    allowed = np.max([floor.upper(alpha / 2 / len(floors)) for floor in floors], axis=0)
    flips, bins = _positions(gaps, margins, limits)
    hard = np.flatnonzero(np.asarray(gaps) > limits[-1])
    e_value = float(np.exp(_largest_log_wealth(flips, bins, allowed)))
    p_value = min(1.0, alpha / 2 + anytime_p(e_value))
    numeric = Divergence.SOFT if p_value <= alpha else Divergence.NUMERIC
    return Triage(
        kind=Divergence.HARD if len(hard) else numeric,
        hard=hard,
        flips=_count(bins[flips], len(limits)),
        trials=_count(bins, len(limits)),
        allowed=allowed,
        e_value=e_value,
        p_value=p_value,
    )


def excess_bound(events: int, trials: int, floors: Sequence[tuple[int, int]], delta: float) -> float:
    """Return an upper bound of the share by which events are more frequent than in the floor where they are most so.

    Clopper and Pearson's upper bound of the share, less their largest lower bound of a floor's; half of δ is spent on
    either, and that of the floors is split among them.

    Args:
        events: Trials that went otherwise.
        trials: At least 1.
        floors: (events, trials) of each floor; without any, the share itself is bounded, at half of δ.
        delta: Probability with which the bound may miss.
    """
    least = max((proportion_lower(*floor, delta / 2 / len(floors)) for floor in floors), default=0.0)
    return max(0.0, proportion_upper(events, trials, delta / 2) - least)


def _positions(
    gaps: npt.ArrayLike, margins: npt.ArrayLike, limits: Sequence[float]
) -> tuple[npt.NDArray[np.bool_], _Counts]:
    """Which positions flipped `[N]`, and their bins `[N]`, the number of bins where the margin is beyond the last."""
    gap, margin, ends = (np.asarray(values, dtype=np.float64) for values in (gaps, margins, limits))
    if gap.ndim != 1 or gap.shape != margin.shape:
        raise ValueError(f"every position needs its gap and its margin, got shapes {gap.shape} and {margin.shape}")
    if not ((gap >= 0).all() and (margin >= 0).all()):
        raise ValueError("gaps and margins must be 0 or positive numbers of nats")
    if ends.ndim != 1 or not ends.size or not (ends[0] >= 0 and (np.diff(ends) > 0).all()):
        raise ValueError("limits of bins must be 0 or positive and ascend")
    return gap > 0, np.searchsorted(ends, margin, side="left")


def _count(bins: _Counts, size: int) -> _Counts:
    return np.bincount(bins, minlength=size + 1)[:size]


def _largest_log_wealth(flips: npt.NDArray[np.bool_], bins: _Counts, allowed: _Array) -> float:
    """Logarithm of the largest product over bins that was reached at any position, at least 0."""
    growth = np.zeros(len(bins))
    for bin_, bound in enumerate(allowed):
        if bound < 1 and len(members := np.flatnonzero(bins == bin_)):
            growth[members] = np.diff(_log_wealth(flips[members], bound), prepend=0.0)
    return max(0.0, float(growth.cumsum().max(initial=0.0)))


def _log_wealth(flips: npt.NDArray[np.bool_], bound: float) -> _Array:
    """Logarithm of ½ + ½ mean_r (r/u)^flips ((1-r)/(1-u))^keeps after each position of one bin `[n]`."""
    rates = bound ** (1 - np.arange(1, _RATES + 1) / (_RATES + 1))
    flipped = flips.cumsum()[:, None]
    kept = np.arange(1, len(flips) + 1)[:, None] - flipped
    bets = flipped * np.log(rates / bound) + kept * (np.log1p(-rates) - np.log1p(-bound))
    wealth: _Array = np.logaddexp(np.log(0.5), np.logaddexp.reduce(bets, axis=1) - np.log(2 * _RATES))
    return wealth
