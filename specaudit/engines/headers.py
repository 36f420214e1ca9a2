"""What an HTTP header can carry, and which headers can be set."""

import re

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""What a header may be called (RFC 9110, 5.6.2)."""

_OF_THE_MESSAGE = ("content-encoding", "content-length", "expect", "transfer-encoding", "upgrade")
"""Headers that tell how a request is sent; another value would break it."""


def is_name(text: str) -> bool:
    """Say whether a text can be a header's name."""
    return _NAME.fullmatch(text) is not None


def settable(name: str) -> bool:
    """Say whether a header can be given a value of one's own."""
    return is_name(name) and name.lower() not in _OF_THE_MESSAGE


def sendable(value: str) -> str | None:
    """Return a key, or a header's value, without the line feed that it may have from a file.

    None where it holds what no header carries: all is printable ASCII (RFC 9110, 5.5).
    """
    value = value.strip()
    return value if value.isascii() and value.isprintable() else None
