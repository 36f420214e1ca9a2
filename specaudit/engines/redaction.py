"""Keys are taken out of what a server says before anything of it is kept, in whatever escapes they come.

A key as short as `0` or `EMPTY`, which servers without keys ask for, also occurs in honest data, where replacing
it would change the data: short keys are looked for in messages only, and there as whole words.
"""

import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from html.entities import codepoint2name
from typing import Any

PLACEHOLDER = "[key]"

_UNMISTAKABLE = 8
"""Characters from which on a key is looked for everywhere."""

_MARKS = re.compile(r"[\\%&+]")
"""What every escape has a part of."""

_BACKSLASH = r"(?:\\(?:u005[cC])?|%(?:25){0,3}5[cC]|&#(?:92|[xX]5[cC]);)"

_BACKSLASHES = 16
"""Of these, at most, stand before a character that is escaped: each time that a text is quoted doubles them."""


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
        ordered = sorted(set(filter(None, keys)), key=len, reverse=True)
        self._unmistakable = [key for key in ordered if len(key) >= _UNMISTAKABLE]
        self._long = [*self._unmistakable, *(inside for key in self._unmistakable for inside in _in_base64(key))]
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
        if len(text) < _UNMISTAKABLE:
            return text
        for key in self._long:
            text = text.replace(key, PLACEHOLDER)
        if _MARKS.search(text):
            for escaped in self._escaped:
                text = escaped.sub(PLACEHOLDER, text)
        return text

    @cached_property
    def _escaped(self) -> list[re.Pattern[str]]:
        """Made when the first escape comes: it takes longer than many answers."""
        return list(map(_escaped, self._unmistakable))


def _in_base64(key: str) -> set[str]:
    """What is sure to stand in Base64 of a text that holds a key: it begins at any of the three bytes of a group."""
    octets = key.encode(errors="surrogatepass")
    return {
        encode(bytes(before) + octets)[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6].decode()
        for encode in (b64encode, urlsafe_b64encode)
        for before in range(3)
    }


def _escaped(key: str) -> re.Pattern[str]:
    """A pattern for a key, escaped once or again: in JSON and code, in addresses, in web pages."""
    pattern, backslashes = "", 0
    for character in key:
        if character == "\\":
            backslashes += 1
            continue
        most = _BACKSLASHES * (backslashes + 1) if pattern or backslashes else 0
        pattern += f"{_BACKSLASH}{{{backslashes},{most}}}+{_form(character)}"
        backslashes = 0
    return re.compile(f"{pattern}{_BACKSLASH}{{{backslashes},{_BACKSLASHES * backslashes}}}")


def _form(character: str) -> str:
    """A pattern for a character in its forms, without the backslashes before it."""
    code, units = ord(character), character.encode("utf-16-be", "surrogatepass").hex()
    forms = [
        re.escape(character),
        f"{_BACKSLASH}{{1,{_BACKSLASHES}}}".join(f"u{_hex(units[at : at + 4])}" for at in range(0, len(units), 4)),
        f"x{_hex(f'{code:02x}')}",
        "".join(f"%(?:25){{0,3}}{_hex(f'{octet:02x}')}" for octet in character.encode(errors="surrogatepass")),
        f"&(?:amp;){{0,3}}(?:#0*{code}|#[xX]0*{_hex(f'{code:x}')}|{codepoint2name.get(code, 'none')});",
        r"\+" if character == " " else re.escape(character),
    ]
    return f"(?:{'|'.join(dict.fromkeys(forms))})"


def _hex(digits: str) -> str:
    """A pattern for hexadecimal digits in either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
