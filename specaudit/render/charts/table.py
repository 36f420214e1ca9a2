"""An exhibit's columns by their place, as the forms read them."""

from collections.abc import Sequence

from specaudit.model.exhibit import Column, Exhibit


def names(column: Column) -> list[str]:
    """Return a column of labels."""
    return [value if isinstance(value, str) else "" if value is None else f"{value:g}" for value in column.values]


def numbers(column: Column) -> list[float | None]:
    """Return a column of figures; what is none stands for one that is not known."""
    return [None if isinstance(value, str) else value for value in column.values]


def column(exhibit: Exhibit, place: int) -> Column:
    """Return a column by its place; an empty one where there is none."""
    count = len(exhibit.columns[0].values) if exhibit.columns else 0
    return exhibit.columns[place] if place < len(exhibit.columns) else Column(name="", values=(None,) * count)


def bad(exhibit: Exhibit, value: float | None) -> bool:
    """Say whether a value lies on the marked side of a rule."""
    if value is None or not exhibit.rules:
        return False
    limits = exhibit.rules.values()
    return value > min(limits) if exhibit.marked == "above" else value < max(limits)


def span(values: Sequence[float | None]) -> str:
    """Return the smallest and the largest value, for a description."""
    known = [value for value in values if value is not None]
    return f"{min(known):.4g} to {max(known):.4g}" if known else "not known"
