"""Figures in findings carry six significant digits: more than any of them is known to, and the same on any machine.

The last bits of a sum or a special function differ between processors and library builds; without rounding,
judging the same evidence elsewhere would give other bytes.
"""

from typing import Any, TypeVar

import msgspec

from specaudit.model.mapping import mapped

SIGNIFICANT = 6

R = TypeVar("R", bound=msgspec.Struct)


def rounded(record: R) -> R:
    """Return the record with every float in it, however deep, rounded to six significant digits."""
    result: R = mapped(record, _rounded)
    return result


def _rounded(leaf: Any) -> Any:
    return float(f"{leaf:.{SIGNIFICANT}g}") if isinstance(leaf, float) else leaf
