"""Empirical distribution functions of samples, such as latencies with and without speculation."""

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit
from specaudit.render.charts.scale import Scale, along, fit, titled, upwards
from specaudit.render.charts.svg import WIDTH, Canvas, shortened
from specaudit.render.charts.table import column, names, numbers

_LEFT, _TOP, _BOTTOM = 58.0, 26.0, 210.0

_NAMED = 3
"""Samples that the legend has room for."""


def draw(exhibit: Exhibit) -> Markup:
    """Draw rows of sample and value: for each sample the share of its values up to each."""
    values = column(exhibit, 1)
    samples: dict[str, list[float]] = {}
    for name, value in zip(names(column(exhibit, 0)), numbers(values), strict=True):
        if value is not None:
            samples.setdefault(name, []).append(value)
    x = fit([value for sample in samples.values() for value in sample], _LEFT, WIDTH - 14)
    y = Scale(low=0.0, high=1.0, start=_BOTTOM, end=_TOP)
    medians = (f"{name}: {len(one)} values, median {sorted(one)[len(one) // 2]:.4g}" for name, one in samples.items())
    canvas = Canvas(_BOTTOM + 38, exhibit.title, f"{'; '.join(medians)}.")
    along(canvas, x, _BOTTOM, _TOP, titled(values.name, values.unit))
    upwards(canvas, y, _LEFT, WIDTH - 14, "share of values up to it")
    for number, (name, sample) in enumerate(samples.items()):
        kind = f"s{number % 3}"
        corners = [(x.start, y(0.0))]
        for rank, value in enumerate(sorted(sample)):
            corners += [(x(value), y(rank / len(sample))), (x(value), y((rank + 1) / len(sample)))]
        canvas.polyline([*corners, (x.end, y(1.0))], f"line {kind}")
        if number < _NAMED:
            canvas.rect(_LEFT + 120 * number, 6, 10, 10, f"fill {kind}")
            canvas.text(_LEFT + 15 + 120 * number, 15, shortened(name, 14), kind="label")
    return canvas.markup()
