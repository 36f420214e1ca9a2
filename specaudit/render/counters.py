"""What counters came to, for a person at a terminal: the figures, the windows, a plot of them, and what is wrong."""

import io
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specaudit.counters.summary import Figure, NamedDefect, Summary, WindowRow
from specaudit.counters.summary import Group as Replica
from specaudit.render.console import console
from specaudit.render.plot import Mark, Point, plot
from specaudit.render.printable import printable_record

Place = tuple[str, str]
"""Source and replica."""

_ROWS = 40
"""Most windows that are listed, half of them from the beginning."""

_PLOTTED = 3
"""Fewest windows that a plot says anything of."""

_REASONS = 8
"""Most reasons that are told."""

_MARKS: dict[str, Mark] = {"valid": "o", "unverified": "?"}

_MEANS = {
    "wrong": "the counters are wrong",
    "void": "the window measures nothing",
    "bias": "figures differ by it",
}


def render_counters(summary: Summary, *, width: int = 80, verbose: bool = False) -> str:
    """Return a summary as text of `width` columns, without any escape sequence.

    Args:
        summary: What the counters came to.
        width: Columns.
        verbose: List every window and reason, and what other tools would show.
    """
    out = io.StringIO()
    parts = Group(*_parts(printable_record(summary), width, verbose))
    console(out, width).print(parts, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def render_window(row: WindowRow) -> str:
    """Return one window as a line, as it ends."""
    row = printable_record(row)
    length = "" if row.length is None or row.status != "valid" else f", {row.length:.3f} tokens per step"
    drafts = "" if row.drafts is None else f", {row.drafts:,.0f} drafts"
    reason = f": {row.reasons[0]}" if row.reasons else ""
    whose = _named((row.source, row.replica))
    return f"{_clock(row.end)}  {whose}{': ' if whose else ''}{row.status}{drafts}{length}{reason}"


def _parts(summary: Summary, width: int, verbose: bool) -> Iterator[RenderableType]:
    yield Text(_headline(summary))
    yield from (Text(f"Note: {note}.") for note in summary.notes)
    if summary.overall is not None:
        yield Text()
        yield _figures(summary.overall, summary.confidence)
        yield Text("These are of all traffic: pages do not tell whose requests they count.")
    places = _places(summary.windows)
    if len(places) > 1:
        yield Text()
        yield _replicas(summary, places)
    if summary.windows:
        yield Text()
        yield _table(summary.windows, places, verbose)
    yield from _plots(summary.windows, places, width)
    yield from _reasons(summary.windows, verbose)
    yield from _defects(summary.defects)
    if conclusion := _conclusion(summary):
        yield Text()
        yield Text(conclusion)
    if verbose:
        yield from _shortcuts(summary)


def _headline(summary: Summary) -> str:
    word = {"measured": "MEASURED", "wrong": "WRONG", "nothing-valid": "NOTHING VALID"}[summary.outcome]
    counts = [f"{count:,} {status}" for status, count in summary.statuses.items()]
    total = sum(summary.statuses.values())
    return f"{word}  {_windows(total)}{': ' if counts else ''}{', '.join(counts)}"


def _windows(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}{' ' if kind else ''}window{'' if count == 1 else 's'}"


def _figures(group: Replica, confidence: float) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"over {_windows(group.windows, 'valid')}", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(f"{confidence:.4g} interval", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    for figure in group.figures:
        table.add_row(figure.name, f"{figure.value:.3f}", _interval(figure), figure.definition)
    return table


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return "needs 20 windows"
    return f"{figure.low:.3f} to {figure.high:.3f}"


def _places(rows: Sequence[WindowRow]) -> list[Place]:
    """Whose windows these are: address and engine of each replica."""
    return list(dict.fromkeys((row.source, row.replica) for row in rows if row.status != "unread"))


def _replicas(summary: Summary, places: Sequence[Place]) -> Table:
    """Each replica by itself, under the number that it has in the other tables."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("of", justify="right", no_wrap=True)
    table.add_column("each by itself", overflow="fold")
    for name in ("valid", "length"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{summary.confidence:.4g} interval", no_wrap=True)
    groups = {(group.source, group.replica): group for group in summary.replicas}
    for number, place in enumerate(places, start=1):
        group = groups.get(place)
        if group is None:
            table.add_row(f"{number}", _named(place), "0", "", "")
        else:
            length = group.figures[0]
            table.add_row(f"{number}", _named(place), f"{group.windows:,}", f"{length.value:.3f}", _interval(length))
    return table


def _table(rows: Sequence[WindowRow], places: Sequence[Place], verbose: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("window", justify="right", no_wrap=True)
    several, timed = len(places) > 1, any(row.end for row in rows)
    if several:
        table.add_column("of", justify="right", no_wrap=True)
    for name in ("from", "to") if timed else ():
        table.add_column(name, no_wrap=True)
    for name in ("drafts", "accepted", "generated", "length"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    numbers = {place: f"{number}" for number, place in enumerate(places, start=1)}
    for index in _listed(len(rows), verbose):
        if index is None:
            table.add_row("…")
            continue
        row = rows[index]
        place = (numbers.get((row.source, row.replica), ""),) if several else ()
        times = (_clock(row.start), _clock(row.end)) if timed else ()
        counts = map(_count, (row.drafts, row.accepted, row.generation_tokens))
        length = "" if row.length is None else f"{row.length:.3f}"
        table.add_row(f"{index + 1:,}", *place, *times, *counts, length, row.status)
    return table


def _plots(rows: Sequence[WindowRow], places: Sequence[Place], width: int) -> Iterator[RenderableType]:
    told = False
    for place in places:
        own = [row for row in rows if (row.source, row.replica) == place or _is_missing(row, place)]
        chart = plot([_point(row) for row in own], width=width) if len(own) >= _PLOTTED else []
        if not chart:
            continue
        yield Text()
        if not told:
            yield Text("Tokens per step, window by window (o valid, ? unverified, : void):")
            told = True
        if len(places) > 1:
            yield Text(_named(place))
        yield Text("\n".join(chart), no_wrap=True, overflow="ignore")


def _is_missing(row: WindowRow, place: Place) -> bool:
    """Whether a page of this replica could not be read."""
    return row.status == "unread" and row.source == place[0]


def _listed(count: int, verbose: bool) -> list[int | None]:
    if verbose or count <= _ROWS:
        return list(range(count))
    return [*range(_ROWS // 2), None, *range(count - _ROWS // 2, count)]


def _reasons(rows: Sequence[WindowRow], verbose: bool) -> Iterator[RenderableType]:
    """Every reason once, with the first window that has it and how many do."""
    seen: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(rows, start=1):
        for reason in row.reasons:
            seen.setdefault((row.status, reason), []).append(number)
    if not seen:
        return
    yield Text()
    yield Text("Not valid, and why:")
    told = list(seen.items()) if verbose else list(seen.items())[:_REASONS]
    table = Table.grid(padding=(0, 1, 0, 0))
    for (status, reason), numbers in told:
        more = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
        table.add_row("-", Text(f"{status} {numbers[0]:,}{more}: {reason}"))
    if len(told) < len(seen):
        table.add_row("-", Text(f"and {len(seen) - len(told):,} more, which --verbose tells"))
    yield table


def _defects(defects: Sequence[NamedDefect]) -> Iterator[RenderableType]:
    if not defects:
        return
    yield Text()
    yield Text("Known defects that these pages show:")
    table = Table.grid(padding=(0, 1, 0, 0))
    for defect in defects:
        where = "" if defect.window is None else f", window {defect.window:,}"
        more = f" and {defect.windows - 1:,} more" if defect.windows > 1 else ""
        table.add_row("-", Text(f"{defect.name}{where}{more} ({_MEANS[defect.meaning]}): {defect.what}"))
    yield table


def _conclusion(summary: Summary) -> str:
    """What can be done where no window is valid."""
    if summary.outcome != "nothing-valid" or not summary.windows:
        return ""
    if summary.statuses.get("unverified"):
        return (
            "Nothing speaks against the unverified windows, and nothing vouches for them. An audit does, by the tokens "
            "that it receives itself: specaudit run --endpoint URL --metrics URL"
        )
    return (
        "From these pages alone nothing can be said of acceptance. Read them while no requests run, or let an audit "
        "make the traffic: specaudit run --endpoint URL --metrics URL"
    )


def _shortcuts(summary: Summary) -> Iterator[RenderableType]:
    yield Text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("what other tools show", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it is, and its bias", overflow="fold")
    for one in summary.shortcuts:
        table.add_row(one.name, "" if one.value is None else f"{one.value:.3f}", f"{one.formula}: {one.bias}")
    yield table


def _point(row: WindowRow) -> Point:
    mark = _MARKS.get(row.status, ":")
    return Point(value=row.length if mark != ":" else None, weight=row.drafts or 0.0, mark=mark)


def _named(place: Place) -> str:
    source, replica = place
    return f"{source}{' ' if source and replica else ''}{f'engine {replica}' if replica else ''}"


def _count(count: float | None) -> str:
    return "" if count is None else f"{count:,.0f}"


def _clock(time: str) -> str:
    """The time of day, where the time is one."""
    try:
        return datetime.fromisoformat(time).strftime("%H:%M:%S")
    except ValueError:
        return ""
