"""What is read from an engine's metrics page, and what a dialect has to offer to read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from specaudit.counters.page import PageError, Sample, Series


class NoSpeculationCounters(PageError):
    """The page is a known engine's, but it has no series about speculative decoding."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The speculation counters of one engine at one moment, as its page shows them.

    Counters run since the process started. They are kept as the page has them, NaN and negative values included:
    judging them is the business of a window.

    Attributes:
        drafts: Verification steps that had draft tokens.
        draft_tokens: Draft tokens proposed.
        accepted: Draft tokens accepted; engines count those past a stop or the token cap too.
        accepted_per_position: `[K]`, entry i counts the steps that accepted at least i+1 draft tokens.
        generation_tokens: Tokens emitted, accepted drafts included.
        requests_finished: Sequences finished, whatever the reason (each of a request's n choices is one); None if
            the engine does not say.
        requests_running: Requests being served at this moment.
        waiting: Requests queued at this moment.
        asleep: Whether the engine is in a sleep state.
        marker: Values that change when the process restarts: its start time and the `_created` series.
        series: The speculation counters on the page.
        replicas: Engines that share the page; with more than one, the counters above are their sums.
        step: What the largest counter is rounded to as the page prints it; 1 where every count is exact.
    """

    drafts: float
    draft_tokens: float
    accepted: float
    accepted_per_position: tuple[float, ...]
    generation_tokens: float
    requests_finished: float | None
    requests_running: float
    waiting: float
    asleep: bool
    marker: tuple[tuple[Series, float], ...]
    series: frozenset[Series]
    replicas: int
    step: float = 1.0


class Dialect(Protocol):
    """One engine's way of exporting its counters."""

    @property
    def name(self) -> str:
        """The engine's name, in lower case."""

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether the page is this engine's, speculating or not."""

    def read(self, samples: Sequence[Sample]) -> Reading:
        """Read the counters from a page that this dialect recognises.

        Raises:
            NoSpeculationCounters: The page has no speculation counters.
            PageError: Some of the series needed are missing.
        """
