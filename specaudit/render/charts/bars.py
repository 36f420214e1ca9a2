"""Bars, a group for each label: how often each path was taken, acceptance by position beside what was claimed."""

from markupsafe import Markup

from specaudit.model.exhibit import Column, Exhibit
from specaudit.render.charts.scale import along, fit, titled
from specaudit.render.charts.svg import WIDTH, Canvas, margin, shortened
from specaudit.render.charts.table import column, names, numbers, span

_BAR, _GAP, _RIGHT, _MOST, _LETTERS = 13.0, 9.0, 52.0, 40, 24
_BOUNDS = ("low", "high")

_NAMED = 2
"""Series that the legend has room for."""


def draw(exhibit: Exhibit) -> Markup:
    """Draw labels with their values; `low` and `high` bound the values before them."""
    labels = names(column(exhibit, 0))[:_MOST]
    series = [one for one in exhibit.columns[1:] if one.name not in _BOUNDS]
    left = margin(labels, _LETTERS)
    values = [numbers(one)[:_MOST] for one in series]
    bounds = [_bounds(exhibit, one) for one in series]
    scale = fit(
        [value for line in [*values, *(b for pair in bounds for b in pair)] for value in line],
        left,
        WIDTH - _RIGHT,
        zero=True,
    )
    top = 8.0 if len(series) < 2 else 26.0
    height = _BAR * len(series) + _GAP
    bottom = top + height * len(labels)
    told = "; ".join(f"{one.name}: {span(line)}" for one, line in zip(series, values, strict=True))
    canvas = Canvas(bottom + 38, exhibit.title, f"{', '.join(labels)}. {told}.")
    along(canvas, scale, bottom, top, titled(series[0].name, series[0].unit), most=4)
    if len(series) > 1:
        for number, one in enumerate(series[:_NAMED]):
            canvas.rect(left + 120 * number, 6, 10, 10, f"fill s{number % 3}")
            canvas.text(left + 15 + 120 * number, 15, shortened(one.name, 14), kind="label")
    for row, label in enumerate(labels):
        y = top + height * row + _GAP / 2
        canvas.text(left - 8, y + _BAR * len(series) / 2 + 4, shortened(label, _LETTERS), kind="label", anchor="end")
        for number, (line, (lows, highs)) in enumerate(zip(values, bounds, strict=True)):
            at, value = y + _BAR * number, line[row]
            if value is None:
                canvas.text(left + 4, at + 10, "not seen", kind="tick")
                continue
            canvas.rect(left, at + 1, scale(value) - left, _BAR - 2, f"fill s{number % 3}")
            low, high = lows[row], highs[row]
            end = value if high is None else max(value, high)
            if low is not None and high is not None:
                canvas.line(scale(low), at + _BAR / 2, scale(high), at + _BAR / 2, "whisker")
            canvas.text(scale(end) + 5, at + 10, _short(value), kind="tick")
    return canvas.markup()


def _bounds(exhibit: Exhibit, of: Column) -> tuple[list[float | None], list[float | None]]:
    """The columns `low` and `high` that follow a column at once."""
    place = exhibit.columns.index(of)
    unknown: list[float | None] = [None] * len(of.values)
    after = [column(exhibit, place + step) for step in (1, 2)]
    if [one.name for one in after] != list(_BOUNDS):
        return unknown, unknown
    return numbers(after[0]), numbers(after[1])


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"
