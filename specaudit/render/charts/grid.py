"""A heat map: one value for each pair of a row and a column, such as the settings of a parameter matrix."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import titled
from specaudit.render.charts.svg import WIDTH, Canvas, margin, shortened
from specaudit.render.charts.table import column, names, numbers, span

_ROW, _TOP, _MOST, _LETTERS = 24.0, 44.0, 40, 18
_SHADES = 5


def draw(exhibit: Exhibit) -> Markup:
    """Draw rows of row, column and value; shades run up to the rule, or to the largest value without one."""
    labels = list(dict.fromkeys(names(column(exhibit, 0))))[:_MOST]
    left = margin([*labels, column(exhibit, 0).name], _LETTERS)
    heads = list(dict.fromkeys(names(column(exhibit, 1))))[:12]
    values = numbers(column(exhibit, 2))
    found = dict(zip(zip(names(column(exhibit, 0)), names(column(exhibit, 1)), strict=True), values, strict=True))
    known = [value for value in values if value is not None]
    limit = min(exhibit.rules.values(), default=max(known, default=1.0)) or 1.0
    width = (WIDTH - left - 8) / max(1, len(heads))
    last = exhibit.columns[-1]
    canvas = Canvas(
        _TOP + _ROW * len(labels) + 26,
        exhibit.title,
        f"{len(labels)} rows, {len(heads)} columns. {column(exhibit, 2).name}: {span(values)}.",
    )
    canvas.text(
        left + (WIDTH - left) / 2, 14, shortened(column(exhibit, 1).name, 30), kind="axis-title", anchor="middle"
    )
    canvas.text(left - 8, _TOP - 8, shortened(column(exhibit, 0).name, _LETTERS), kind="axis-title", anchor="end")
    for place, head in enumerate(heads):
        canvas.text(
            left + width * (place + 0.5), _TOP - 8, shortened(head, int(width / 6)), kind="label", anchor="middle"
        )
    for row, label in enumerate(labels):
        y = _TOP + _ROW * row
        canvas.text(left - 8, y + 16, shortened(label, _LETTERS), kind="label", anchor="end")
        for place, head in enumerate(heads):
            value = found.get((label, head))
            shade = "none" if value is None else f"h{min(_SHADES, int(_SHADES * max(value, 0.0) / limit))}"
            canvas.rect(left + width * place + 1, y + 1, width - 2, _ROW - 2, f"heat {shade}")
            told = "–" if value is None else f"{value:.3g}"
            canvas.text(left + width * (place + 0.5), y + 16, told, kind="label", anchor="middle")
    named = shortened(min(exhibit.rules, key=exhibit.rules.__getitem__, default="the largest"), 14)
    told = f"darkest from {named} {limit:.3g} on: {titled(column(exhibit, 2).name, last.unit)}"
    canvas.text(8, _TOP + _ROW * len(labels) + 18, shortened(told, 60), kind="tick")
    return canvas.markup()
