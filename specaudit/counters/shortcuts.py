"""What other tools make of the same pages: common shortcuts, each with its bias.

For steps that accept each draft with probability α = .8, K = 4, a step yields 3.362 tokens on average. In requests of 8
tokens the shortcuts below converge to 3.362, 2.699 and 3.085, in requests of 128 to 3.362, 3.321 and 3.347.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specaudit.counters.window import Window


@dataclass(frozen=True, kw_only=True)
class Shortcut:
    """A figure that is shown elsewhere as the acceptance length.

    Attributes:
        name: Its stable name.
        formula: How it is computed, Σ over windows.
        value: What it gives here, in tokens per step; None where the engine does not count what it is made of.
        bias: How it misleads.
    """

    name: str
    formula: str
    value: float | None
    bias: str


def shortcuts(windows: Sequence[Window]) -> tuple[Shortcut, ...]:
    """Compute the shortcuts: those that need no more than counts over the valid windows, the careless over all."""
    valid = [window for window in windows if window.status == "valid"]
    drafts, accepted = _sum(w.drafts for w in valid), _sum(w.accepted for w in valid)
    generation, sequences = _sum(w.generation_tokens for w in valid), _sum(w.sequences for w in valid)
    return (
        Shortcut(
            name="accepted-per-draft",
            formula="1 + Σaccepted / Σdrafts",
            value=_ratio(_plus(drafts, accepted), drafts),
            bias="the verifier's length: what stops and caps cut off is in it, so users get less",
        ),
        Shortcut(
            name="emitted-after-first",
            formula="(Σgenerated - Σsequences) / Σdrafts",
            value=_ratio(_plus(generation, sequences, -1), drafts),
            bias="the user's length: too small for the verifier by what the last step of every sequence loses",
        ),
        Shortcut(
            name="completion-per-step",
            formula="Σgenerated / Σdrafts",
            value=_ratio(generation, drafts),
            bias="the prefill token of every sequence, which no step made, is in it: too large for short answers",
        ),
        _careless("subtracted", "the last page less the first", windows, clamped=False),
        _careless("clamped", "Σ over windows of what grew, and nothing of what fell", windows, clamped=True),
    )


def _careless(name: str, formula: str, windows: Sequence[Window], *, clamped: bool) -> Shortcut:
    def total(counts: Iterable[float | None]) -> float | None:
        return _sum(count if count is None or not clamped else max(count, 0.0) for count in counts)

    drafts, accepted = total(w.drafts for w in windows), total(w.accepted for w in windows)
    return Shortcut(
        name=name,
        formula=f"1 + accepted / drafts, of {formula}",
        value=_ratio(_plus(drafts, accepted), drafts),
        bias="resets and other people's traffic are in it, whatever the windows are worth",
    )


def _sum(counts: Iterable[float | None]) -> float | None:
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if found and len(known) == len(found) else None


def _plus(one: float | None, other: float | None, sign: int = 1) -> float | None:
    return None if one is None or other is None else one + sign * other


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return None if numerator is None or not denominator else numerator / denominator
