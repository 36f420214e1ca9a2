"""Forms of drawing by name. A form is one file, registered by a line here."""

from collections.abc import Callable

from markupsafe import Markup

from specaudit.model.exhibit import Exhibit, Form
from specaudit.render.charts import bars, cells, grid, intervals, path, points, steps, windows

DRAWINGS: dict[Form, Callable[[Exhibit], Markup]] = {
    "bars": bars.draw,
    "cells": cells.draw,
    "grid": grid.draw,
    "intervals": intervals.draw,
    "path": path.draw,
    "points": points.draw,
    "steps": steps.draw,
    "windows": windows.draw,
}


def draw(exhibit: Exhibit) -> Markup:
    """Return an exhibit as SVG, with a text alternative; nothing where it has no figure."""
    if not exhibit.columns or not exhibit.columns[0].values:
        return Markup("")
    return DRAWINGS[exhibit.form](exhibit)
