"""A path: one or more series over a common axis, such as what bets have earned after so many tokens."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import along, fit, titled, upwards
from specaudit.render.charts.svg import WIDTH, Canvas, shortened
from specaudit.render.charts.table import column, numbers, span

_LEFT, _TOP, _BOTTOM = 58.0, 18.0, 210.0


def draw(exhibit: Exhibit) -> Markup:
    """Draw x and y; a missing y is infinite, and stands at the upper edge."""
    first, *others = exhibit.columns
    xs = [value or 0.0 for value in numbers(first)]
    lines = [numbers(one) for one in others]
    x = fit(xs, _LEFT, WIDTH - 14, zero=True)
    y = fit([*(value for line in lines for value in line), *exhibit.rules.values(), 0.0], _BOTTOM, _TOP)
    ends = "".join(f" {one.name}: {span(line)}." for one, line in zip(others, lines, strict=True))
    limits = "".join(f" {name}: {value:.4g}." for name, value in exhibit.rules.items())
    canvas = Canvas(_BOTTOM + 38, exhibit.title, f"{first.name}: {span(xs)}.{ends}{limits}")
    along(canvas, x, _BOTTOM, _TOP, titled(first.name, first.unit))
    upwards(canvas, y, _LEFT, WIDTH - 14, titled(column(exhibit, 1).name, column(exhibit, 1).unit))
    for name, at in exhibit.rules.items():
        canvas.line(_LEFT, y(at), WIDTH - 14, y(at), "rule")
        canvas.text(_LEFT + 5, y(at) - 4, shortened(name, 30), kind="rule-name")
    for number, line in enumerate(lines):
        canvas.polyline(
            [(x(at), y(y.high if value is None else value)) for at, value in zip(xs, line, strict=True)],
            f"line s{number % 3}",
        )
        for at, value in zip(xs, line, strict=True):
            if value is None:
                canvas.circle(x(at), y(y.high), 3, "mark bad")
    return canvas.markup()
