"""What is read from an engine's metrics page, and what a dialect has to offer to read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from specaudit.counters.page import PageError, Sample, Series


class NoSpeculationCounters(PageError):
    """The page is a known engine's, but it has no series about speculative decoding."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The speculation counters of one replica at one moment, as its page shows them.

    Counters run since the process started. They are kept as the page has them, NaN and negative values included:
    judging them is the business of a window. What an engine does not export is None.

    Attributes:
        replica: The `engine` label of the replica, where a page has one for each; otherwise empty.
        drafts: Verification steps that had draft tokens.
        draft_tokens: Draft tokens proposed.
        accepted: Draft tokens accepted; engines count those past a stop or the token cap too.
        accepted_per_position: `[K]`, entry i counts the steps that accepted at least i+1 draft tokens; empty where
            the engine has no such counters.
        forwards: Steps of the target behind prefill that emitted, drafted or not, of all sequences; told in answers
            only, since one step of a batch serves several sequences.
        draft_limit: K, the most draft tokens a step can have, as far as the page shows it; otherwise 0.
        generation_tokens: Tokens emitted, accepted drafts included.
        requests_finished: Sequences finished, whatever the reason (each of a request's n choices is one).
        requests_running: Requests being served at this moment.
        waiting: Requests queued at this moment.
        asleep: Whether the engine is in a sleep state.
        marker: Values that change when the process restarts: its start time and the `_created` series.
        uptime: Seconds since the process started.
        configuration: Series that describe the configuration, with their values; they change only with it.
        series: The speculation counters on the page.
        unfit: Why acceptance cannot be had from such a page, a sentence each; empty where it can.
        step: What the largest counter is rounded to as the page prints it; 1 where every count is exact.
    """

    replica: str = ""
    drafts: float | None
    draft_tokens: float | None
    accepted: float | None
    accepted_per_position: tuple[float, ...]
    forwards: float | None = None
    draft_limit: int
    generation_tokens: float | None
    requests_finished: float | None
    requests_running: float | None
    waiting: float | None
    asleep: bool = False
    marker: tuple[tuple[Series, float], ...]
    uptime: float | None = None
    configuration: frozenset[tuple[Series, float]] = frozenset()
    series: frozenset[Series]
    unfit: tuple[str, ...] = ()
    step: float = 1.0


class Dialect(Protocol):
    """One engine's way of exporting its counters."""

    @property
    def name(self) -> str:
        """The engine's name, in lower case."""

    @property
    def description(self) -> str:
        """The engine, and what its counters are worth, in one line."""

    @property
    def prefix(self) -> str:
        """What every series of the engine starts with."""

    def recognises(self, samples: Sequence[Sample]) -> bool:
        """Whether the page is this engine's, speculating or not."""

    def read(self, samples: Sequence[Sample]) -> tuple[Reading, ...]:
        """Read the counters of each replica on a page that this dialect recognises.

        Raises:
            NoSpeculationCounters: The page has no speculation counters.
            PageError: Some of the series needed are missing.
        """
