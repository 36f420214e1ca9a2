"""From snapshots, as they come, to the windows between them: for each address and each of its replicas."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

from specaudit.counters.interface import Reading
from specaudit.counters.page import PageError, Series
from specaudit.counters.read import read_page
from specaudit.counters.snapshots import Snapshot
from specaudit.counters.window import Status, Window
from specaudit.counters.windows import page_windows

_CLOCK_SECONDS = 5.0
"""By how much a process may have started after it was asked before a clock is called wrong."""

_H = TypeVar("_H", bound=Hashable)


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """What is known of one replica between two snapshots, or that a snapshot could not be read.

    Attributes:
        source: Whose page it is.
        replica: Which engine on the page; empty where there is one.
        start: When the earlier page was taken (UTC, ISO 8601); empty if unknown, or if this is about one page.
        end: When the later page was taken; empty if unknown.
        status: As of the window; `unread` where there is no page.
        reasons: Why it is not valid.
        window: None where there is no page.
    """

    source: str
    replica: str
    start: str
    end: str
    status: Status | Literal["unread"]
    reasons: tuple[str, ...]
    window: Window | None


@dataclass(kw_only=True)
class _Page:
    """The last readable page of a source."""

    taken: str
    time: datetime | None
    readings: tuple[Reading, ...]
    lives: tuple[tuple[tuple[Series, float], ...], ...]
    """The markers of the processes that answered so far, a few at most."""


class History:
    """Takes the snapshots of any number of sources in the order in which they were taken.

    Pages are not kept: a day of them at every five seconds is some gigabyte. A page that cannot be read leaves a gap,
    over which the next window reaches.

    Args:
        dialect: Name of the dialect of all pages; by default it is found from each.
        min_drafts: With fewer drafts a window is void.
    """

    def __init__(self, dialect: str | None = None, min_drafts: int = 1) -> None:
        self._dialect = dialect
        self._min_drafts = min_drafts
        self._last: dict[str, _Page] = {}
        self._shared: dict[Hashable, Hashable] = {}
        self.notes: dict[str, str] = {}
        """What is odd about the pages of a source as such, a sentence."""

    @property
    def latest(self) -> dict[str, tuple[Reading, ...]]:
        """The readings on the last readable page of each source."""
        return {source: page.readings for source, page in self._last.items()}

    def add(self, snapshot: Snapshot) -> list[Interval]:
        """Return what the snapshot ends: a window for each replica; nothing for the first page of a source."""
        try:
            readings = self._read(snapshot)
        except PageError as error:
            return [_unread(snapshot, str(error))]
        self._look_at_the_clock(snapshot, readings)
        marker, before = readings[0].marker, self._last.get(snapshot.source)
        lives = before.lives if before else ()
        self._last[snapshot.source] = _Page(
            taken=snapshot.taken,
            time=snapshot.time,
            readings=readings,
            lives=lives if marker in lives else (*lives, marker),
        )
        if before is None:
            return []
        windows = page_windows(
            before.readings, readings, elapsed=_elapsed(before.time, snapshot.time), min_drafts=self._min_drafts
        )
        if marker != before.readings[0].marker and marker in lives:
            windows = tuple(_of_another_server(window) for window in windows)
        return [_interval(before.taken, snapshot, window) for window in windows]

    def _read(self, snapshot: Snapshot) -> tuple[Reading, ...]:
        if snapshot.failure is not None:
            raise PageError(snapshot.failure)
        readings = read_page(snapshot.page, snapshot.content_type, self._dialect)
        return tuple(
            replace(
                reading,
                marker=self._same(reading.marker),
                series=self._same(reading.series),
                configuration=self._same(reading.configuration),
            )
            for reading in readings
        )

    def _same(self, value: _H) -> _H:
        """The first of equal values: thousands of readings share what only a restart changes."""
        shared: _H = self._shared.setdefault(value, value)  # type: ignore[assignment]
        return shared

    def _look_at_the_clock(self, snapshot: Snapshot, readings: tuple[Reading, ...]) -> None:
        taken = snapshot.time
        if taken is None:
            return
        started = max((value for series, value in readings[0].marker), default=0.0)
        if started > taken.timestamp() + _CLOCK_SECONDS:
            ahead = started - taken.timestamp()
            self.notes[snapshot.source] = (
                f"the server says that it started {ahead:,.0f} s after it was asked: one of the two clocks is wrong"
            )


def _unread(snapshot: Snapshot, reason: str) -> Interval:
    return Interval(
        source=snapshot.source,
        replica="",
        start="",
        end=snapshot.taken,
        status="unread",
        reasons=(reason,),
        window=None,
    )


def _interval(start: str, after: Snapshot, window: Window) -> Interval:
    return Interval(
        source=after.source,
        replica=window.after.replica,
        start=start,
        end=after.taken,
        status=window.status,
        reasons=window.reasons,
        window=window,
    )


def _of_another_server(window: Window) -> Window:
    reason = "a server answered that had answered before another did: several share this address"
    return replace(window, reasons=(reason, *window.reasons))


def _elapsed(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()
