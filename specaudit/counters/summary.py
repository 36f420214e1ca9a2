"""What a history of pages comes to: its windows, the acceptance in them, and what is wrong with them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Literal

from msgspec import structs

from specaudit.counters.acceptance import Acceptance, Estimate, acceptance
from specaudit.counters.defects import Meaning, defects_among, defects_in
from specaudit.counters.history import Interval
from specaudit.counters.interface import Reading
from specaudit.counters.rules import identities_broken
from specaudit.counters.shortcuts import shortcuts
from specaudit.counters.window import Window
from specaudit.model.record import FORM_VERSION, Record

Outcome = Literal["measured", "wrong", "nothing-valid"]


class WindowRow(Record, frozen=True, kw_only=True):
    """One window, or a page that could not be read. Counts and lengths are as the pages have them, void or not."""

    source: str
    """Whose pages they are."""
    replica: str
    """Which engine on the page; empty where there is one."""
    start: str
    """When the earlier page was taken (UTC, ISO 8601); empty if unknown."""
    end: str
    status: str
    """`valid`, `unverified`, `void`, or `unread` where there is no page."""
    reasons: tuple[str, ...]
    """Why it is not valid."""
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted: float | None = None
    accepted_per_position: tuple[float, ...] = ()
    generation_tokens: float | None = None
    sequences: float | None = None
    length: float | None = None
    """The verifier's length, or the user's where the engine does not count what was accepted; tokens per step."""


class Figure(Record, frozen=True, kw_only=True):
    """A figure over all valid windows."""

    name: str
    definition: str
    value: float
    low: float | None
    """Lower end of its interval; None with fewer than 20 windows."""
    high: float | None
    unit: str = ""


class Group(Record, frozen=True, kw_only=True):
    """The figures of one replica, or of all together."""

    source: str
    replica: str
    windows: int
    """How many valid windows they are made of."""
    figures: tuple[Figure, ...]


class NamedDefect(Record, frozen=True, kw_only=True):
    """A defect that was seen, and where first."""

    name: str
    meaning: Meaning
    what: str
    window: int | None
    """Number of the first window that shows it, from 1; None where windows show it beside each other."""
    windows: int
    """How many windows show it."""


class NamedShortcut(Record, frozen=True, kw_only=True):
    """What another tool would show, and how it misleads."""

    name: str
    formula: str
    value: float | None
    bias: str


class Summary(Record, frozen=True, kw_only=True):
    """What counters came to."""

    version: int = FORM_VERSION
    outcome: Outcome
    """`wrong`, if counters contradict themselves; `nothing-valid`, if no window may be believed."""
    confidence: float
    """Of each interval by itself."""
    statuses: dict[str, int]
    windows: tuple[WindowRow, ...]
    overall: Group | None
    """None where no window is valid."""
    replicas: tuple[Group, ...]
    """Each by itself, where there are several."""
    defects: tuple[NamedDefect, ...]
    shortcuts: tuple[NamedShortcut, ...]
    notes: tuple[str, ...]


def summarise(intervals: Sequence[Interval], confidence: float, notes: Sequence[str] = ()) -> Summary:
    """Put together what is known of the windows.

    Args:
        intervals: What a history returned, in its order.
        confidence: Coverage of each interval by itself, between 0 and 1.
        notes: What else is to be said of the pages.
    """
    windows = [interval.window for interval in intervals if interval.window is not None]
    defects = _defects(intervals, windows)
    wrong = any(window.contradicts for window in windows) or any(defect.meaning == "wrong" for defect in defects)
    overall = _group("", "", windows, confidence)
    return Summary(
        outcome="wrong" if wrong else "nothing-valid" if overall is None else "measured",
        confidence=confidence,
        statuses=dict(Counter(interval.status for interval in intervals)),
        windows=tuple(row(interval) for interval in intervals),
        overall=overall,
        replicas=_replicas(intervals, confidence),
        defects=defects,
        shortcuts=tuple(
            NamedShortcut(name=one.name, formula=one.formula, value=one.value, bias=one.bias)
            for one in shortcuts(windows)
        ),
        notes=(*notes, *_remarks(windows, confidence)),
    )


def _remarks(windows: Sequence[Window], confidence: float) -> Iterator[str]:
    """What a reader of the figures has to know."""
    measured = acceptance(windows, confidence)
    if measured is not None and measured.per_position and not measured.whole_drafts:
        yield (
            "drafts are of different lengths, and one that ended before a position counts as rejected there: the "
            "shares of steps that reached it are too small"
        )


def of_one_page(reading: Reading) -> str:
    """Say what a page by itself tells: totals of a life, and no window."""
    said = "one page is no window, another one is needed"
    if not reading.drafts:
        return f"{said}; since it started the server counted no drafts"
    length = "" if reading.accepted is None else f", verifier's length {1 + reading.accepted / reading.drafts:.3f}"
    broken = "".join(f"; its counters contradict each other: {why}" for why in identities_broken(reading))
    return f"{said}; since it started the server counted {reading.drafts:,.0f} drafts{length}{broken}"


def row(interval: Interval) -> WindowRow:
    """Return a window, or a page that could not be read, as a record."""
    told = WindowRow(
        source=interval.source,
        replica=interval.replica,
        start=interval.start,
        end=interval.end,
        status=interval.status,
        reasons=interval.reasons,
    )
    window = interval.window
    if window is None:
        return told
    return structs.replace(
        told,
        drafts=_whole(window.drafts),
        draft_tokens=_whole(window.draft_tokens),
        accepted=_whole(window.accepted),
        accepted_per_position=tuple(map(_whole, window.accepted_per_position)),
        generation_tokens=_whole(window.generation_tokens),
        sequences=_whole(window.sequences),
        length=_length(window),
    )


def _whole(count: float | None) -> float | None:
    """A count as JSON should have it: without a decimal point."""
    return int(count) if count is not None and isfinite(count) and count == int(count) else count


def _length(window: Window) -> float | None:
    """The length over one window, where its counts make sense."""
    drafts, accepted = window.drafts, window.accepted
    if drafts is None or not drafts > 0:
        return None
    if accepted is not None:
        return 1 + accepted / drafts if 0 <= accepted <= 2**53 else None
    if window.generation_tokens is None or window.sequences is None:
        return None
    emitted = window.generation_tokens - window.sequences
    return emitted / drafts if emitted >= 0 else None


def _replicas(intervals: Sequence[Interval], confidence: float) -> tuple[Group, ...]:
    places = dict.fromkeys((one.source, one.replica) for one in intervals if one.window is not None)
    if len(places) < 2:
        return ()
    found = (
        _group(
            *place, [one.window for one in intervals if one.window and (one.source, one.replica) == place], confidence
        )
        for place in places
    )
    return tuple(group for group in found if group is not None)


def _group(source: str, replica: str, windows: Sequence[Window], confidence: float) -> Group | None:
    measured = acceptance(windows, confidence)
    if measured is None:
        return None
    return Group(source=source, replica=replica, windows=measured.windows, figures=_figures(measured))


def _figures(measured: Acceptance) -> tuple[Figure, ...]:
    told: list[tuple[str, str, Estimate | None, str]] = [
        ("verifier length", "1 + accepted / drafts", measured.verifier_length, "tokens per step"),
        ("user length", "(generated - sequences) / drafts", measured.user_length, "tokens per step"),
        ("draft acceptance rate", "accepted / draft tokens", measured.draft_acceptance_rate, ""),
    ]
    for i, share in enumerate(measured.per_position, start=1):
        told.append((f"position {i}", f"steps accepting {i} or more / drafts", share, ""))
    for i, share_of in enumerate(measured.per_position_conditional, start=1):
        of = "drafts" if i == 1 else f"steps accepting {i - 1} or more"
        told.append((f"position {i}, reached", f"steps accepting {i} or more / {of}", share_of, ""))
    return tuple(
        Figure(
            name=name,
            definition=definition,
            value=estimate.value,
            low=estimate.interval.low if estimate.interval else None,
            high=estimate.interval.high if estimate.interval else None,
            unit=unit,
        )
        for name, definition, estimate, unit in told
        if estimate is not None
    )


def _defects(intervals: Sequence[Interval], windows: Sequence[Window]) -> tuple[NamedDefect, ...]:
    seen: dict[str, NamedDefect] = {}
    for number, interval in enumerate(intervals, start=1):
        for defect in defects_in(interval.window) if interval.window is not None else ():
            first = seen.get(defect.name)
            seen[defect.name] = NamedDefect(
                name=defect.name,
                meaning=defect.meaning,
                what=first.what if first else defect.what,
                window=first.window if first else number,
                windows=first.windows + 1 if first else 1,
            )
    beside = (
        NamedDefect(name=defect.name, meaning=defect.meaning, what=defect.what, window=None, windows=1)
        for defect in defects_among(windows)
    )
    return (*seen.values(), *beside)
