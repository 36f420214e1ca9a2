"""Ranges of depths, and how many completions of which length fill them."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from specaudit.checks.law3.settings import DepthSettings
from specaudit.stats.power import completions_needed

BINS = 16
"""Bins of the probability-integral transform."""

CHOOSING = 1 / 16
"""Share of a range's tokens that choose cells for the others, where the law is not told."""

_EDGES = (0, 3, 16, 128, 1024)
"""Faults show at different depths: before and behind the first verified step, within the first page of a cache and
far beyond it, at the length for which a drafter was trained."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """Depths from `first` (0 is the first token) to before `end`."""

    first: int
    end: int

    @property
    def name(self) -> str:
        """As a reader counts tokens, from 1."""
        return f"tokens {self.first + 1} to {self.end}" if self.end - self.first > 1 else f"token {self.end}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Completions of one length, which fill the range that ends there."""

    depths: Range
    completions: int
    scored: int
    """Tokens of each completion, within the range, that need be scored."""


def ranges(max_tokens: int) -> tuple[Range, ...]:
    """Return the ranges that completions of so many tokens reach."""
    starts = [edge for edge in _EDGES if edge < max_tokens]
    return tuple(Range(first=a, end=b) for a, b in zip(starts, [*starts[1:], max_tokens], strict=True))


def groups(
    settings: DepthSettings, *, delta: float, whole: bool, samples: Literal[1, 2] = 1, edges: float = 0.0
) -> tuple[Group, ...]:
    """Return how many completions of which length are needed, the longest first.

    Args:
        settings: The check's.
        delta: Error probability of the bounds.
        whole: Every token of a completion is scored, so that long completions fill the short ranges too; otherwise
            each scored token costs a request, and a completion is scored in its own range only.
        samples: 2 where the law is not told, and draws of the reference stand for it.
        edges: Total variation that tokens at the edge of the filters hide: the bound adds it, so that only the rest of
            the tolerance is left to the draws.
    """
    depths = ranges(settings.max_tokens)
    success = 1 - (1 - settings.success) / len(depths)
    needed = completions_needed(BINS - 1, settings.tolerance - edges, delta=delta, success=success, samples=samples)
    if samples == 2:
        needed = ceil(needed / (1 - CHOOSING))
    found: list[Group] = []
    for one in reversed(depths):
        width = one.end - one.first
        longer = sum(group.completions for group in found) if whole else 0
        count = max(settings.least_completions, ceil(needed / width)) - longer
        if count > 0:
            found.append(Group(depths=one, completions=count, scored=min(width, ceil(needed / count))))
    return tuple(found)
