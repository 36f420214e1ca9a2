"""Axes: from figures to places on a drawing, and the figures that are written along it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from specaudit.render.charts.svg import Canvas, shortened

_TITLE = 38
"""Letters of an axis's title that have room."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A linear axis."""

    low: float
    high: float
    start: float
    """Where `low` stands on the drawing."""
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; what is beyond an end stands at that end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values along the axis."""
        step = _round_step((self.high - self.low) / most)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def fit(values: Sequence[float | None], start: float, end: float, *, zero: bool = False) -> Scale:
    """Return an axis that holds all values, with a little air; from 0 on where that is asked for."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    low = min(low, 0.0) if zero else low
    if high - low < 1e-12 * max(1.0, abs(high)):
        high = low + (abs(low) * 0.1 or 1.0)
    air = (high - low) * 0.04
    return Scale(low=low if zero and low == 0 else low - air, high=high + air, start=start, end=end)


def along(canvas: Canvas, scale: Scale, y: float, top: float, title: str, *, most: int = 5) -> None:
    """Draw an axis along the bottom, with lines up to `top` and its title below."""
    ticks = scale.ticks(most)
    for value in ticks:
        canvas.line(scale(value), top, scale(value), y, "grid")
        canvas.text(scale(value), y + 14, figure(value, ticks), kind="tick", anchor="middle")
    canvas.line(scale.start, y, scale.end, y, "axis")
    canvas.text((scale.start + scale.end) / 2, y + 30, shortened(title, _TITLE), kind="axis-title", anchor="middle")


def upwards(canvas: Canvas, scale: Scale, x: float, right: float, title: str) -> None:
    """Draw an axis up the left side, with lines to `right` and its title beside."""
    ticks = scale.ticks(5)
    for value in ticks:
        canvas.line(x, scale(value), right, scale(value), "grid")
        canvas.text(x - 5, scale(value) + 4, figure(value, ticks), kind="tick", anchor="end")
    canvas.line(x, scale.start, x, scale.end, "axis")
    canvas.upright(11, (scale.start + scale.end) / 2, shortened(title, _TITLE))


def figure(value: float, beside: Sequence[float]) -> str:
    """Return a tick's figure with as many decimals as its neighbours need."""
    step = min((abs(b - a) for a, b in pairwise(beside)), default=1.0)
    largest = max(map(abs, beside), default=1.0)
    if largest >= 1e6 or (step and step < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.{max(0, -floor(log10(step) + 1e-9)) if step else 0}f}".replace("-0.0", "0.0")


def titled(name: str, unit: str) -> str:
    """Return the title of an axis: what it shows, and in what."""
    return f"{name} ({unit})" if unit else name


def _round_step(rough: float) -> float:
    power = 10.0 ** floor(log10(rough))
    return float(next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9)))
