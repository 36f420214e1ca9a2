"""Figures in findings carry six significant digits: more than any of them is known to, and the same on any machine.

The last bits of a sum or a special function differ between processors and library builds; without rounding,
judging the same evidence elsewhere would give other bytes.
"""

from typing import Any, TypeVar

import msgspec

SIGNIFICANT = 6

R = TypeVar("R", bound=msgspec.Struct)


def rounded(record: R) -> R:
    """Return the record with every float in it, however deep, rounded to six significant digits."""
    result: R = _rounded(record)
    return result


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.{SIGNIFICANT}g}")
        case msgspec.Struct():
            fields = {name: _rounded(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**fields)
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case tuple():
            return tuple(_rounded(item) for item in value)
    return value
