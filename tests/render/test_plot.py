import pytest

from specaudit.render.plot import Point, plot


def points(*values: float | str) -> list[Point]:
    """Numbers count, `:` is a stretch without a value, and a number in a text does not count."""
    return [
        Point(value=None, weight=0, mark=":")
        if value == ":"
        else Point(value=float(value), weight=1, mark="?" if isinstance(value, str) else "o")
        for value in values
    ]


def test_values_and_stretches() -> None:
    assert plot(points(1, 2, ":", "1.5", 3), width=20, height=3) == [
        "3.00 |  : o",
        "     | o:",
        "1.00 |o :?",
        "     +-----",
    ]


def test_columns_that_share_are_weighted_and_shaded() -> None:
    shared = [Point(value=1, weight=3, mark="o"), Point(value=5, weight=1, mark="o"), *points(":", 3)]
    assert plot(shared, width=8, height=5) == [
        "5.00 | :",
        "     | :",
        "     | o",
        "     |o:",  # (3 · 1 + 5 · 1) / 4 = 2
        "1.00 | :",
        "     +--",
    ]


def test_what_does_not_count_is_drawn_only_where_nothing_counts() -> None:
    mixed = [*points(2, "9"), *points("1", "1"), *points(3, 3)]
    lines = plot(mixed, width=9, height=2)
    assert lines[:2] == ["3.00 |  o", "2.00 |o?"]


def test_a_value_outside_of_those_that_count_stays_at_the_edge() -> None:
    assert plot(points(1, 2, "99"), width=20, height=2)[0] == "2.00 | o?"


def test_equal_values_lie_in_the_middle() -> None:
    lines = plot(points(2, 2), width=20, height=3)
    assert lines[1] == "     |oo"
    assert (lines[0][:4], lines[2][:4]) == ("2.05", "1.95")


@pytest.mark.parametrize("nothing", [[], points(":", ":"), points("1")])
def test_nothing_that_counts_gives_no_plot(nothing: list[Point]) -> None:
    assert plot(nothing, width=20) == []


@pytest.mark.parametrize("width", [12, 40, 80])
def test_it_is_no_wider_than_asked(width: int) -> None:
    lines = plot(points(*range(1, 500)), width=width)
    assert max(map(len, lines)) == width
