"""A plot of text: values over time, with what may not be believed marked as such."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mark = Literal["o", "?", ":"]
"""A value that counts, one that does not, and a stretch without any."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One value of a plot.

    Attributes:
        value: The value; None where there is none.
        weight: What it counts for where several share a column.
        mark: How it is drawn.
    """

    value: float | None
    weight: float
    mark: Mark


def plot(points: Sequence[Point], *, width: int, height: int = 8) -> list[str]:
    """Return the lines of a plot, the axis last; none where no point has a value that counts.

    Columns hold points in their order. Where several share one, it shows their weighted mean, over those that count
    if any does; a column with a stretch that does not count is shaded with `:`.

    Args:
        points: What to plot.
        width: Columns of the text, labels included.
        height: Lines above the axis.
    """
    counting = [point.value for point in points if point.mark == "o" and point.value is not None]
    if not counting or height < 2:
        return []
    low, high = min(counting), max(counting)
    if high - low < 0.01:
        low, high = low - 0.05, high + 0.05
    labels = [f"{low + (high - low) * line / (height - 1):.2f}" for line in range(height)]
    margin = max(map(len, labels))
    columns = _columns(points, max(1, min(len(points), width - margin - 2)))
    lines = []
    for line in reversed(range(height)):
        cells = "".join(_cell(column, line, low, high, height) for column in columns)
        label = labels[line] if line in (0, height - 1) else ""
        lines.append(f"{label:>{margin}} |{cells}".rstrip())
    return [*lines, f"{'':{margin}} +{'-' * len(columns)}"]


@dataclass(frozen=True, kw_only=True)
class _Column:
    value: float | None
    mark: Mark
    shaded: bool


def _columns(points: Sequence[Point], count: int) -> list[_Column]:
    parts = (points[len(points) * i // count : len(points) * (i + 1) // count] for i in range(count))
    return [_column(part) for part in parts]


def _column(points: Sequence[Point]) -> _Column:
    shaded = any(point.mark == ":" for point in points)
    for mark in ("o", "?"):
        found = [(point.value, point.weight) for point in points if point.mark == mark and point.value is not None]
        weight = sum(weight for _, weight in found)
        if weight > 0:
            return _Column(value=sum(value * w for value, w in found) / weight, mark=mark, shaded=shaded)
    return _Column(value=None, mark=":", shaded=shaded)


def _cell(column: _Column, line: int, low: float, high: float, height: int) -> str:
    if column.value is not None and line == round(
        (min(max(column.value, low), high) - low) / (high - low) * (height - 1)
    ):
        return column.mark
    return ":" if column.shaded else " "
