"""The heat map shows for each pair of levels the largest deviation of the cells that hold both."""

from specaudit.checks.law5.cells import Cell, Level
from specaudit.checks.law5.matrix import exhibit


def cell(number: int, **levels: str) -> Cell:
    return Cell(number=number, levels={name: Level(label=label) for name, label in levels.items()})


def test_each_pair_shows_the_largest_of_its_cells() -> None:
    shown = exhibit(
        [
            (cell(0), 0.01),
            (cell(1, temperature="temperature 0.7", top_p="top_p 0.9"), 0.02),
            (cell(2, temperature="temperature 0.7", top_p="top_p 0.9", top_k="top_k 5"), 0.3),
            (cell(3, temperature="temperature 1.3", top_k="top_k 5"), 0.04),
        ],
        0.05,
    )
    assert shown is not None
    rows, others, values = (column.values for column in shown.columns)
    assert dict(zip(zip(rows, others, strict=True), values, strict=True)) == {
        ("neutral", "neutral"): 0.01,
        ("temperature 0.7", "top_p 0.9"): 0.3,
        ("temperature 0.7", "top_k 5"): 0.3,
        ("temperature 1.3", "top_k 5"): 0.04,
    }
    assert (shown.form, shown.rules) == ("grid", {"tolerance": 0.05})


def test_without_any_level_there_is_no_map() -> None:
    assert exhibit([], 0.05) is None
    assert exhibit([(cell(0), 0.01)], 0.05) is None
