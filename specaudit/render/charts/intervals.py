"""A forest plot: estimates with their bounds, beside what is tolerated."""

from collections.abc import Sequence

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import along, fit, titled
from specaudit.render.charts.svg import WIDTH, Canvas, margin, shortened
from specaudit.render.charts.table import bad, column, names, numbers

_ROW, _MOST, _LETTERS = 20.0, 40, 19


def draw(exhibit: Exhibit) -> Markup:
    """Draw rows of label, value, low and high; a rule stands for what is tolerated."""
    labels = names(column(exhibit, 0))[:_MOST]
    values, lows, highs = (numbers(column(exhibit, place))[:_MOST] for place in (1, 2, 3))
    rules = list(exhibit.rules.values())
    left = margin(labels, _LETTERS)
    scale = fit([*values, *lows, *highs, *rules, 0.0], left, WIDTH - 12, zero=True)
    bottom = 20 + _ROW * len(labels)
    canvas = Canvas(bottom + 38, exhibit.title, _told(labels, values, lows, highs, exhibit.rules))
    along(canvas, scale, bottom, 14, titled(exhibit.columns[1].name, exhibit.columns[1].unit))
    for name, at in exhibit.rules.items():
        canvas.line(scale(at), 14, scale(at), bottom, "rule")
        canvas.text(min(scale(at), WIDTH - 45), 10, shortened(name, 14), kind="rule-name", anchor="middle")
    for row, (label, value, low, high) in enumerate(zip(labels, values, lows, highs, strict=True)):
        y = 14 + _ROW * (row + 0.5)
        canvas.text(left - 8, y + 4, shortened(label, _LETTERS), kind="label", anchor="end")
        start, end = (scale.low if low is None else low), (value if high is None else high)
        if end is not None and (low is not None or high is not None):
            canvas.line(scale(start), y, scale(end), y, "whisker")
        if value is not None:
            canvas.circle(scale(value), y, 4, "mark bad" if bad(exhibit, value) else "mark")
    return canvas.markup()


def _told(
    labels: Sequence[str],
    values: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    rules: dict[str, float],
) -> str:
    limits = "".join(f" {name}: {value:.4g}." for name, value in rules.items())
    rows = (
        f"{label}: {_or(value)}, from {_or(low)} to {_or(high)}"
        for label, value, low, high in zip(labels, values, lows, highs, strict=True)
    )
    return f"{'; '.join(rows)}.{limits}"


def _or(value: float | None) -> str:
    return "not bounded" if value is None else f"{value:.4g}"
