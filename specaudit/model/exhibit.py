"""A series that shows what a finding rests on, in one form for all of them: a table, and how it is best drawn."""

from typing import Literal

import msgspec

from specaudit.model.record import Record

Form = Literal["bars", "cells", "grid", "intervals", "path", "points", "steps", "windows"]
"""How a table is drawn. The columns that each form reads, in this order:

`bars`: label, then one or more values, of which those named `low` and `high` bound the value before them.
`cells`: label, observed, expected, residual.
`grid`: row, column, value.
`intervals`: label, value, low, high, tolerance; a bound or tolerance may be missing.
`path`: x, then one or more y; a missing y is infinite.
`points`: x, y, label.
`steps`: sample, value: the distribution functions of the samples.
`windows`: number, value, status, reason; only what is `valid` counts.
"""


class Column(Record, frozen=True, kw_only=True):
    """A column of an exhibit; all columns of one have the same length."""

    name: str
    values: tuple[str | float | None, ...]
    """None where a figure is not known."""
    unit: str = ""


class Exhibit(Record, frozen=True, kw_only=True):
    """A table of the evidence with its title. Formats for people draw it; whoever cannot see it reads the table."""

    title: str
    form: Form
    columns: tuple[Column, ...]
    rules: dict[str, float] = msgspec.field(default_factory=dict)
    """Values that are marked across the drawing, by name, e.g. a tolerance."""
    marked: Literal["above", "below"] = "above"
    """The side of its rules on which `intervals` and `points` mark a value as bad."""
    note: str = ""
    """What the reader has to know of it, in a sentence."""
