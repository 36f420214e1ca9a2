"""Keys are taken out of what a server says before anything of it is kept.

A key as short as `0` or `EMPTY`, which servers without keys ask for, also occurs in honest data, where replacing
it would change the data: short keys are looked for in messages only, and there as whole words.
"""

import re
from base64 import b64decode
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

PLACEHOLDER = "[key]"

_UNMISTAKABLE = 8
"""Characters from which on a key is looked for everywhere."""


def secret_parts(value: str) -> list[str]:
    """Return a header's value, and whatever of it a server may echo alone.

    That is the key of `Bearer KEY`, the value of a cookie, name and password of Basic authorization.
    """
    parts = [part for part in re.split(r"[\s;,=]+", value) if len(part) >= _UNMISTAKABLE]
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() == "basic":
        with suppress(ValueError):
            pair = b64decode(encoded, validate=True).decode()
            parts += [pair, *pair.split(":", 1)]
    return [value, *parts]


class Redaction:
    """Replaces a server's keys, wherever they are echoed, by a placeholder.

    Args:
        keys: what must not be kept; empty strings are none.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        # Longest first, so that no key is found inside another and leaves the rest of it behind.
        ordered = sorted(filter(None, keys), key=len, reverse=True)
        self._long = [key for key in ordered if len(key) >= _UNMISTAKABLE]
        self._short = [re.compile(rf"(?<!\w){re.escape(key)}(?!\w)") for key in ordered if len(key) < _UNMISTAKABLE]

    def message(self, text: str) -> str:
        """Redact a message meant for people."""
        text = self._without_long(text)
        for key in self._short:
            text = key.sub(PLACEHOLDER, text)
        return text

    def data(self, value: Any) -> Any:
        """Redact every string in a text or in decoded JSON."""
        return self._walk(value) if self._long else value

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._without_long(value)
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, dict):
            return {self._without_long(name): self._walk(item) for name, item in value.items()}
        return value

    def _without_long(self, text: str) -> str:
        for key in self._long:
            text = text.replace(key, PLACEHOLDER)
        return text
