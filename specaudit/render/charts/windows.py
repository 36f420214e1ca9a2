"""Figures of windows over time: those that count, and void ones as shaded stretches without any."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import along, fit, titled, upwards
from specaudit.render.charts.svg import WIDTH, Canvas, shortened
from specaudit.render.charts.table import column, names, numbers, span

_LEFT, _TOP, _BOTTOM = 58.0, 26.0, 200.0


def draw(exhibit: Exhibit) -> Markup:
    """Draw windows as number, value and status; a value that does not count is not drawn."""
    xs = [value or 0.0 for value in numbers(column(exhibit, 0))]
    values, statuses = numbers(column(exhibit, 1)), names(column(exhibit, 2))
    shown = [value if status != "void" else None for value, status in zip(values, statuses, strict=True)]
    x = fit([min(xs, default=0) - 0.5, max(xs, default=1) + 0.5], _LEFT, WIDTH - 14)
    y = fit([*shown, *exhibit.rules.values()], _BOTTOM, _TOP)
    counted = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
    canvas = Canvas(
        _BOTTOM + 38,
        exhibit.title,
        f"{', '.join(f'{count} {status}' for status, count in counted.items())}. "
        f"{exhibit.columns[1].name}: {span(shown)}.",
    )
    half = (x(1.0) - x(0.0)) / 2
    for at, status in zip(xs, statuses, strict=True):
        if status == "void":
            canvas.rect(x(at) - half, _TOP, 2 * half, _BOTTOM - _TOP, "void")
    along(canvas, x, _BOTTOM, _TOP, exhibit.columns[0].name)
    upwards(canvas, y, _LEFT, WIDTH - 14, titled(exhibit.columns[1].name, exhibit.columns[1].unit))
    for name, at in exhibit.rules.items():
        canvas.line(_LEFT, y(at), WIDTH - 14, y(at), "rule")
        canvas.text(WIDTH - 16, y(at) - 4, shortened(name, 30), kind="rule-name", anchor="end")
    for at, value, status in zip(xs, shown, statuses, strict=True):
        if value is not None:
            canvas.circle(x(at), y(value), 3.5, "mark" if status == "valid" else "mark hollow")
    for place, (kind, name) in enumerate((("mark", "valid"), ("mark hollow", "unverified"))):
        canvas.circle(_LEFT + 6 + 90 * place, 12, 3.5, kind)
        canvas.text(_LEFT + 15 + 90 * place, 16, name, kind="label")
    canvas.rect(_LEFT + 190, 6, 14, 12, "void")
    canvas.text(_LEFT + 209, 16, "void", kind="label")
    return canvas.markup()
