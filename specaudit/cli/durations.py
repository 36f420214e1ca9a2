"""Durations on the command line."""

import re

import click

_SECONDS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(ms|s|min|m|h|)")


def seconds(value: str | float) -> float:
    """Read a duration such as `500ms`, `5s`, `1m` or `2h`; a number alone is in seconds.

    Raises:
        click.BadParameter: It is none, or nothing.
    """
    found = _DURATION.fullmatch(str(value))
    duration = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not duration:
        raise click.BadParameter(f"{value!r} is no duration, such as 500ms, 5s, 1m or 2h.")
    return duration
