"""The matrix as a heat map: how large the deviation is where two levels meet."""

from collections.abc import Iterable

from specaudit.checks.law5.cells import Cell
from specaudit.model.exhibit import Column, Exhibit

_NEUTRAL = "neutral"


def exhibit(measured: Iterable[tuple[Cell, float]], tolerance: float) -> Exhibit | None:
    """Return the largest total variation of all cells that share two levels; None where nothing was measured.

    Rows are the levels of the parameter that is set in most cells, columns those of all others.

    Args:
        measured: Cells with the total variation that was found in each.
        tolerance: What is tolerated.
    """
    found = list(measured)
    names = [name for cell, _ in found for name in cell.levels]
    if not names:
        return None
    by = max(dict.fromkeys(names), key=names.count)
    largest: dict[tuple[str, str], float] = {}
    for cell, value in found:
        row = cell.levels[by].label if by in cell.levels else _NEUTRAL
        others = [level.label for name, level in cell.levels.items() if name != by] or [_NEUTRAL]
        for other in others:
            largest[row, other] = max(value, largest.get((row, other), 0.0))
    return Exhibit(
        title=f"Total variation by {by} and the other parameters",
        form="grid",
        columns=(
            Column(name=by, values=tuple(row for row, _ in largest)),
            Column(name="with", values=tuple(other for _, other in largest)),
            Column(name="largest total variation", values=tuple(largest.values())),
        ),
        rules={"tolerance": tolerance},
        note="A cell sets several parameters at once; each pair shows the largest of all cells that hold it.",
    )
