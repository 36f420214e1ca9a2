import click
import pytest

from specaudit.cli.durations import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 0.5), ("5s", 5), ("5", 5), ("1m", 60), ("1.5 min", 90), ("2h", 7200), (3.0, 3)],
)
def test_durations(text: str | float, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "0s", "-5s", "5 days", "1e3s", "nan"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no duration"):
        seconds(text)
