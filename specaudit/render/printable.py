"""Text from elsewhere, made safe to print: model names, servers' messages and tokens are not ours.

A terminal obeys control characters and escape sequences wherever they come from, bidirectional marks make text
read as what it is not, and XML holds neither control characters nor what is no character at all.
"""

import re
from enum import StrEnum
from typing import Any, TypeVar

from specaudit.model.mapping import mapped

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")

R = TypeVar("R")


def printable(text: str) -> str:
    r"""Return a line of text with everything that a terminal obeys written as an escape, e.g. `\x1b`."""
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape", "backslashreplace").decode(), text)


def printable_record(record: R, *, longest: int | None = None) -> R:
    """Return the record with every text in it, however deep, safe to print and cut to so many characters."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, StrEnum):  # those are ours
            return value
        cut = longest is not None and len(value) > longest
        return printable(value[:longest] + "…" if cut else value)

    result: R = mapped(record, leaf)
    return result


def printable_json(text: str) -> str:
    """Return JSON that means the same, with such characters as JSON escapes; they stand within strings only."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
