"""Acceptance figures from valid windows, each with its definition and, from 20 windows on, its interval.

Windows are the independent units: every figure is a ratio of sums over windows, and its interval is the ratio
estimator's with Student quantiles. Figures from a single pair of readings have no interval, and none is made up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from specaudit.counters.window import Window
from specaudit.stats.intervals import MIN_WINDOWS, Interval, ratio_interval

Counts = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A ratio of sums over windows.

    Attributes:
        value: The ratio.
        interval: Its interval; None with fewer than 20 windows.
    """

    value: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What the valid windows say about speculation; sums Σ run over windows.

    A figure is None where the engine does not count what it is made of.

    Attributes:
        windows: How many valid windows there were.
        drafts: Σ verification steps with draft tokens.
        draft_tokens: Σ draft tokens proposed.
        accepted: Σ draft tokens accepted.
        generation_tokens: Σ tokens emitted.
        sequences: Σ sequences served.
        verifier_length: `1 + Σaccepted / Σdrafts`: tokens that a step with a draft yields before trimming at a stop
            or cap, bonus or replacement token included.
        user_length: `(Σgeneration - Σsequences) / Σdrafts`: tokens emitted after each sequence's prefill token, per
            step with a draft. Below the verifier length by what was trimmed, above it by undrafted steps (n-gram and
            suffix drafters skip steps in which nothing matches).
        draft_acceptance_rate: `Σaccepted / Σdraft_tokens`. Not the per-token α: with α = .8 and K = 4 it is .590.
            None also where no draft token was proposed.
        per_position: `[K]`, `Σper_position_i / Σdrafts`: the share of steps that accepted at least i+1 draft tokens.
        per_position_conditional: `[K]`, `Σper_position_i / Σper_position_{i-1}`: the share of steps that accepted
            token i among those that accepted all before it (for i = 0, among all drafts). None where no step came so
            far.
        whole_drafts: Every step drafted K tokens. Otherwise steps whose draft ended before i count as not accepting
            token i, and the conditional shares are too small.
        rejecting_steps: At least so many steps rejected a draft token: those that accepted none, and in chains
            `Σ⌈(draft_tokens - accepted) / K⌉`.
        bonus_rows: At least so many steps accepted K draft tokens and drew a bonus token: `Σper_position_{K-1}`.
            Like the rejections, these were computed; a sequence's last step may have lost its last tokens to a stop
            or cap. Both are None where the engine counts no positions, so that neither can be seen.
    """

    windows: int
    drafts: int
    draft_tokens: int | None
    accepted: int | None
    generation_tokens: int | None
    sequences: int | None
    verifier_length: Estimate | None
    user_length: Estimate | None
    draft_acceptance_rate: Estimate | None
    per_position: tuple[Estimate, ...]
    per_position_conditional: tuple[Estimate | None, ...]
    whole_drafts: bool
    rejecting_steps: int | None
    bonus_rows: int | None

    @property
    def length(self) -> Estimate | None:
        """The verifier length, or the user's where the engine does not count what was accepted."""
        return self.verifier_length or self.user_length


def acceptance(windows: Sequence[Window], confidence: float) -> Acceptance | None:
    """Estimate acceptance from the valid windows among those given.

    Args:
        windows: Windows of one server, whatever their replicas; those that are void or unverified are left out.
        confidence: Coverage of each interval by itself, between 0 and 1.

    Returns:
        The figures, or None if no valid window has a draft.
    """
    valid = [window for window in windows if window.status == "valid" and (window.drafts or 0) > 0]
    if not valid:
        return None
    drafts = _column([window.drafts for window in valid])
    draft_tokens = _column([window.draft_tokens for window in valid])
    accepted = _column([window.accepted for window in valid])
    generation = _column([window.generation_tokens for window in valid])
    sequences = _column([window.sequences for window in valid])
    assert drafts is not None
    positions = _positions(valid)
    emitted = None if generation is None or sequences is None else generation - sequences
    return Acceptance(
        windows=len(valid),
        drafts=int(drafts.sum()),
        draft_tokens=_total(draft_tokens),
        accepted=_total(accepted),
        generation_tokens=_total(generation),
        sequences=_total(sequences),
        verifier_length=None if accepted is None else _ratio(drafts + accepted, drafts, confidence),
        user_length=None if emitted is None else _ratio(emitted, drafts, confidence),
        draft_acceptance_rate=_ratio(accepted, draft_tokens, confidence),
        per_position=tuple(_estimate(count, drafts, confidence) for count in positions),
        per_position_conditional=tuple(
            _ratio(count, reached, confidence) for reached, count in pairwise((drafts, *positions))
        ),
        whole_drafts=draft_tokens is not None and float(draft_tokens.sum()) == _most_draft_tokens(valid),
        rejecting_steps=sum(_rejecting_steps(window) for window in valid) if len(positions) else None,
        bonus_rows=sum(_bonus_rows(window) for window in valid) if len(positions) else None,
    )


def _column(counts: Sequence[float | None]) -> Counts | None:
    """`[W]`, a count of every window; None if it is unknown in any."""
    known = [count for count in counts if count is not None]
    return np.array(known, dtype=np.float64) if len(known) == len(counts) else None


def _positions(windows: Sequence[Window]) -> Counts:
    """`[K, W]`, the windows' per-position counts; a window with fewer positions accepted nothing at the others."""
    counts = np.zeros((max(len(window.accepted_per_position) for window in windows), len(windows)))
    for column, window in enumerate(windows):
        counts[: len(window.accepted_per_position), column] = window.accepted_per_position
    return counts


def _total(counts: Counts | None) -> int | None:
    return None if counts is None else int(counts.sum())


def _estimate(numerators: Counts, denominators: Counts, confidence: float) -> Estimate:
    enough = len(denominators) >= MIN_WINDOWS
    return Estimate(
        value=float(numerators.sum() / denominators.sum()),
        interval=ratio_interval(numerators, denominators, confidence) if enough else None,
    )


def _ratio(numerators: Counts | None, denominators: Counts | None, confidence: float) -> Estimate | None:
    if numerators is None or denominators is None or not denominators.any():
        return None
    return _estimate(numerators, denominators, confidence)


def _most_draft_tokens(windows: Sequence[Window]) -> float:
    return sum(window.draft_limit * (window.drafts or 0) for window in windows)


def _rejecting_steps(window: Window) -> int:
    # A chain's step rejects at most K draft tokens, the first by its coin and the rest by coming after it. A tree's
    # tokens on other branches are no rejections: there, only the steps that accepted nothing are sure.
    drafts, per_position = window.drafts or 0, window.accepted_per_position
    none_accepted = int(drafts - per_position[0]) if per_position else 0
    limit, draft_tokens = window.draft_limit, window.draft_tokens
    if not limit or draft_tokens is None or window.accepted is None or draft_tokens > limit * drafts:
        return none_accepted
    return max(none_accepted, ceil((draft_tokens - window.accepted) / limit))


def _bonus_rows(window: Window) -> int:
    per_position = window.accepted_per_position
    full = bool(per_position) and len(per_position) == window.draft_limit
    return int(per_position[-1]) if full else 0
