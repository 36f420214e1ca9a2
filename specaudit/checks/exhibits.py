"""Series behind a check's figures, as its finding shows them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from specaudit.checks.windows import BlockWindow
from specaudit.counters.acceptance import Acceptance
from specaudit.counters.window import Window
from specaudit.model.exhibit import Column, Exhibit

_CELLS = 24
"""Most cells that are shown by themselves; what deviates most is always among them."""

_POINTS = 500
"""Most points of a series."""


def cells(title: str, labels: Sequence[str], observed: ArrayLike, expected: ArrayLike, *, note: str = "") -> Exhibit:
    """Return observed beside expected counts, cell by cell, with Pearson's residuals.

    Cells beyond those that can be shown are put together: those with the smallest residuals.

    Args:
        title: What was counted.
        labels: A name for each cell `[K]`.
        observed: Counts `[K]`.
        expected: Counts that the law, or the other arm, lets expect `[K]`; of the same sum.
        note: What else is to be known.
    """
    seen, due = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    names = list(labels)
    if len(names) > _CELLS:
        rank = np.argsort(-np.abs(_residuals(seen, due)), kind="stable")
        kept, rest = np.sort(rank[: _CELLS - 1]), rank[_CELLS - 1 :]
        names = [*(names[cell] for cell in kept), f"{len(rest)} others"]
        seen, due = (np.append(counts[kept], counts[rest].sum()) for counts in (seen, due))
    return Exhibit(
        title=title,
        form="cells",
        columns=(
            Column(name="cell", values=tuple(names)),
            Column(name="observed", values=tuple(seen.tolist()), unit="draws"),
            Column(name="expected", values=tuple(due.tolist()), unit="draws"),
            Column(name="residual", values=tuple(_residuals(seen, due).tolist()), unit="standard deviations"),
        ),
        note=note,
    )


def _residuals(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """(observed - expected) / √expected; what was to be expected never counts as less than one draw."""
    residuals: np.ndarray = (observed - expected) / np.sqrt(np.maximum(expected, 1.0))
    return residuals


def points(
    title: str, xs: Column, ys: Column, labels: Column, *, rules: Mapping[str, float] | None = None, note: str = ""
) -> Exhibit:
    """Return points with their names; of very many, the first."""
    columns = tuple(
        Column(name=column.name, unit=column.unit, values=column.values[:_POINTS]) for column in (xs, ys, labels)
    )
    left = len(xs.values) - _POINTS
    more = f"{left:,} further points are not shown." if left > 0 else ""
    return Exhibit(
        title=title, form="points", columns=columns, rules=dict(rules or {}), note=" ".join(filter(None, (note, more)))
    )


def acceptance_by_window(windows: Sequence[BlockWindow]) -> Exhibit | None:
    """Return the tokens per step of each window of counters, void windows and their reasons included."""
    shown = windows[:_POINTS]
    lengths = [None if one.window is None else _length(one.window) for one in shown]
    if all(length is None for length in lengths):
        return None
    return Exhibit(
        title="Acceptance over time",
        form="windows",
        columns=(
            Column(name="window", values=tuple(float(number) for number in range(1, len(shown) + 1))),
            Column(name="verifier length", values=tuple(lengths), unit="tokens per step"),
            Column(name="status", values=tuple(one.status for one in shown)),
            Column(name="reason", values=tuple("; ".join(one.reasons) for one in shown)),
        ),
        note="Void and unverified windows enter no figure.",
    )


def _length(window: Window) -> float | None:
    drafts, accepted = window.drafts, window.accepted
    sane = drafts is not None and drafts > 0 and accepted is not None and 0 <= accepted <= drafts * 1000
    return 1 + accepted / drafts if sane and drafts and accepted is not None else None


def acceptance_by_position(measured: Acceptance, *, claimed: Sequence[float] = ()) -> Exhibit | None:
    """Return the share of drafted steps that accept at least so many drafts, beside what was claimed."""
    if not measured.per_position:
        return None
    intervals = [one.interval for one in measured.per_position]
    columns = [
        Column(name="position", values=tuple(str(i + 1) for i in range(len(intervals)))),
        Column(name="observed", values=tuple(one.value for one in measured.per_position), unit="share of steps"),
        Column(name="low", values=tuple(None if one is None else one.low for one in intervals)),
        Column(name="high", values=tuple(None if one is None else one.high for one in intervals)),
    ]
    if claimed:
        padded = tuple(claimed[i] if i < len(claimed) else None for i in range(len(intervals)))
        columns.append(Column(name="claimed", values=padded, unit="share of steps"))
    return Exhibit(title="Acceptance by position in the draft", form="bars", columns=tuple(columns))
