"""Observed beside expected counts, cell by cell, with residuals to the right."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import along, fit, titled
from specaudit.render.charts.svg import WIDTH, Canvas, margin, shortened
from specaudit.render.charts.table import column, names, numbers

_ROW, _ROOM, _TOP, _MOST, _LETTERS = 15.0, 132.0, 26.0, 60, 16
_LARGE = 3.0
"""Standard deviations from which on a residual is marked."""


def draw(exhibit: Exhibit) -> Markup:
    """Draw cells as label, observed, expected and residual."""
    labels = names(column(exhibit, 0))[:_MOST]
    observed, expected, residuals = (
        [value or 0.0 for value in numbers(column(exhibit, place))[:_MOST]] for place in (1, 2, 3)
    )
    left, middle = margin(labels, _LETTERS), WIDTH - _ROOM
    counts = fit([*observed, *expected], left, middle - 18, zero=True)
    widest = max([_LARGE + 0.5, *map(abs, residuals)])
    spread = fit([-widest, widest], middle, WIDTH - 12)
    bottom = _TOP + _ROW * len(labels)
    canvas = Canvas(bottom + 38, exhibit.title, _told(labels, observed, expected, residuals))
    canvas.rect(left, 6, 10, 10, "fill s0")
    canvas.text(left + 15, 15, shortened(column(exhibit, 1).name, 11), kind="label")
    canvas.line(left + 92, 5, left + 92, 17, "expected")
    canvas.text(left + 98, 15, shortened(column(exhibit, 2).name, 24), kind="label")
    along(canvas, counts, bottom, _TOP, titled("count", column(exhibit, 1).unit), most=3)
    along(canvas, spread, bottom, _TOP, "residual (std. dev.)", most=4)
    for row, label in enumerate(labels):
        y = _TOP + _ROW * row
        canvas.text(left - 6, y + 11, shortened(label, _LETTERS), kind="label", anchor="end")
        canvas.rect(left, y + 3, counts(observed[row]) - left, _ROW - 6, "fill s0")
        canvas.line(counts(expected[row]), y + 1, counts(expected[row]), y + _ROW - 1, "expected")
        start, end = sorted((spread(0.0), spread(residuals[row])))
        large = abs(residuals[row]) >= _LARGE
        canvas.rect(start, y + 3, max(end - start, 0.8), _ROW - 6, "fill bad" if large else "fill s2")
    canvas.line(spread(0.0), _TOP, spread(0.0), bottom, "axis")
    return canvas.markup()


def _told(labels: list[str], observed: list[float], expected: list[float], residuals: list[float]) -> str:
    if not labels:
        return "No cell."
    worst = max(range(len(labels)), key=lambda row: abs(residuals[row]))
    return (
        f"{len(labels)} cells. The largest residual is {residuals[worst]:.2g} standard deviations, at {labels[worst]}: "
        f"{observed[worst]:,.0f} observed, {expected[worst]:,.1f} expected."
    )
