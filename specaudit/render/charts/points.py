"""Points, such as first divergences by position and gap."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import along, fit, titled, upwards
from specaudit.render.charts.svg import WIDTH, Canvas, shortened
from specaudit.render.charts.table import bad, column, numbers, span

_LEFT, _TOP, _BOTTOM = 58.0, 18.0, 210.0


def draw(exhibit: Exhibit) -> Markup:
    """Draw x and y; a point without a y stands as a tick on the lower axis."""
    first, second = column(exhibit, 0), column(exhibit, 1)
    xs, ys = [value or 0.0 for value in numbers(first)], numbers(second)
    x = fit(xs, _LEFT, WIDTH - 14, zero=True)
    y = fit([*ys, *exhibit.rules.values(), 0.0], _BOTTOM, _TOP, zero=True)
    unknown = sum(value is None for value in ys)
    canvas = Canvas(
        _BOTTOM + 38,
        exhibit.title,
        f"{len(xs)} points. {first.name}: {span(xs)}. {second.name}: {span(ys)}, not known of {unknown}.",
    )
    along(canvas, x, _BOTTOM, _TOP, titled(first.name, first.unit))
    upwards(canvas, y, _LEFT, WIDTH - 14, titled(second.name, second.unit))
    for name, at in exhibit.rules.items():
        canvas.line(_LEFT, y(at), WIDTH - 14, y(at), "rule")
        canvas.text(WIDTH - 16, y(at) - 4, shortened(name, 30), kind="rule-name", anchor="end")
    for at, value in zip(xs, ys, strict=True):
        if value is None:
            canvas.line(x(at), _BOTTOM - 7, x(at), _BOTTOM, "whisker")
        else:
            canvas.circle(x(at), y(value), 4, "mark bad" if bad(exhibit, value) else "mark")
    return canvas.markup()
