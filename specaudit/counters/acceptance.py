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

from specaudit.counters.windows import Window
from specaudit.stats.intervals import MIN_WINDOWS, Interval, ratio_interval


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

    Attributes:
        windows: How many valid windows there were.
        drafts: Σ verification steps with draft tokens.
        draft_tokens: Σ draft tokens proposed.
        accepted: Σ draft tokens accepted.
        generation_tokens: Σ tokens emitted.
        sequences: Σ sequences served; None if unknown in any window.
        verifier_length: `1 + Σaccepted / Σdrafts`: tokens that a step with a draft yields before trimming at a stop
            or cap, bonus or replacement token included.
        emitted_per_step: `(Σgeneration - Σsequences) / Σdrafts`: tokens emitted after each sequence's prefill token,
            per step with a draft. Below the verifier length by what was trimmed, above it by undrafted steps (n-gram
            and suffix drafters skip steps in which nothing matches). None if the sequences are unknown.
        draft_acceptance_rate: `Σaccepted / Σdraft_tokens`. Not the per-token α: with α = .8 and K = 4 it is .590.
            None if no draft token was proposed.
        per_position: `[K]`, `Σper_position_i / Σdrafts`: the share of steps that accepted at least i+1 draft tokens.
        per_position_conditional: `[K]`, `Σper_position_i / Σper_position_{i-1}`: the share of steps that accepted
            token i among those that accepted all before it (for i = 0, among all drafts). Steps whose draft ended
            before i count as not accepting. None where no step came so far.
        rejecting_steps: At least so many steps rejected a draft token: `Σ⌈(draft_tokens - accepted) / K⌉`.
        bonus_rows: At least so many steps accepted K draft tokens and drew a bonus token: `Σper_position_{K-1}`.
            Like the rejections, these were computed; a sequence's last step may have lost its last tokens to a stop
            or cap.
    """

    windows: int
    drafts: int
    draft_tokens: int
    accepted: int
    generation_tokens: int
    sequences: int | None
    verifier_length: Estimate
    emitted_per_step: Estimate | None
    draft_acceptance_rate: Estimate | None
    per_position: tuple[Estimate, ...]
    per_position_conditional: tuple[Estimate | None, ...]
    rejecting_steps: int
    bonus_rows: int


def acceptance(windows: Sequence[Window], confidence: float) -> Acceptance | None:
    """Estimate acceptance from the valid windows among those given.

    Args:
        windows: Windows of one server; those that are void or unverified are left out.
        confidence: Coverage of each interval by itself, between 0 and 1.

    Returns:
        The figures, or None if no valid window has a draft.
    """
    valid = [window for window in windows if window.status == "valid" and window.drafts > 0]
    if not valid:
        return None
    drafts = np.array([window.drafts for window in valid])
    draft_tokens = np.array([window.draft_tokens for window in valid])
    accepted = np.array([window.accepted for window in valid])
    generation = np.array([window.generation_tokens for window in valid])
    positions = _positions(valid)
    known = [window.sequences for window in valid if window.sequences is not None]
    sequences = np.array(known) if len(known) == len(valid) else None
    return Acceptance(
        windows=len(valid),
        drafts=int(drafts.sum()),
        draft_tokens=int(draft_tokens.sum()),
        accepted=int(accepted.sum()),
        generation_tokens=int(generation.sum()),
        sequences=None if sequences is None else int(sequences.sum()),
        verifier_length=_ratio(drafts + accepted, drafts, confidence),
        emitted_per_step=None if sequences is None else _ratio(generation - sequences, drafts, confidence),
        draft_acceptance_rate=_ratio_if_any(accepted, draft_tokens, confidence),
        per_position=tuple(_ratio(count, drafts, confidence) for count in positions),
        per_position_conditional=tuple(
            _ratio_if_any(count, reached, confidence) for reached, count in pairwise((drafts, *positions))
        ),
        rejecting_steps=sum(_rejecting_steps(window) for window in valid),
        bonus_rows=sum(_bonus_rows(window) for window in valid),
    )


def _positions(windows: Sequence[Window]) -> NDArray[np.float64]:
    """`[K, W]`, the windows' per-position counts; a window with fewer positions accepted nothing at the others."""
    counts = np.zeros((max(len(window.accepted_per_position) for window in windows), len(windows)))
    for column, window in enumerate(windows):
        counts[: len(window.accepted_per_position), column] = window.accepted_per_position
    return counts


def _ratio(numerators: NDArray[np.float64], denominators: NDArray[np.float64], confidence: float) -> Estimate:
    enough = len(denominators) >= MIN_WINDOWS
    return Estimate(
        value=float(numerators.sum() / denominators.sum()),
        interval=ratio_interval(numerators, denominators, confidence) if enough else None,
    )


def _ratio_if_any(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], confidence: float
) -> Estimate | None:
    return _ratio(numerators, denominators, confidence) if denominators.any() else None


def _rejecting_steps(window: Window) -> int:
    # A step rejects at most K draft tokens, the first by its coin and the rest by coming after it.
    limit = window.draft_tokens_limit
    return ceil((window.draft_tokens - window.accepted) / limit) if limit else 0


def _bonus_rows(window: Window) -> int:
    per_position = window.accepted_per_position
    full = bool(per_position) and len(per_position) == window.draft_tokens_limit
    return int(per_position[-1]) if full else 0
