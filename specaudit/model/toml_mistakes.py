"""Mistakes in a TOML file, told by line, key and the nearest valid key."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, TypeVar, get_args

import msgspec

from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.toml_lines import key_lines

R = TypeVar("R")


def read_toml(text: str, kind: type[R], where: str, *, hint: str) -> R:
    """Read a record from TOML.

    Args:
        text: the TOML.
        kind: the record's type.
        where: what the user knows the text as.
        hint: what to try where it is wrong.

    Raises:
        UsageError: it has a mistake; the message names line, key and the nearest valid key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}.", hint=hint) from error
    mistakes = Mistakes(text, where)
    for path in not_finite(data, ()):
        raise UsageError(f"{mistakes.place(path)}: {path[-1]!r} is no finite number.", hint=hint)
    try:
        return msgspec.convert(data, type=kind)
    except msgspec.ValidationError as error:
        raise mistakes.told(error, kind, (), hint=hint) from error


def not_finite(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Find the keys of numbers that JSON, and so evidence, cannot hold."""
    match value:
        case dict():
            for key, item in value.items():
                yield from not_finite(item, (*path, key))
        case list():
            for item in value:
                yield from not_finite(item, path)
        case float() if not isfinite(value):
            yield path


class Mistakes:
    """Tells a mistake in a TOML text by its line, its key and the nearest valid key."""

    def __init__(self, text: str, where: str) -> None:
        self._lines = key_lines(text)
        self._where = where

    def place(self, path: Sequence[str]) -> str:
        """Return the file and the line of a key, or of the innermost table around it that has one."""
        prefixes = (tuple(path[:end]) for end in range(len(path), 0, -1))
        line = next((self._lines[prefix] for prefix in prefixes if prefix in self._lines), None)
        return self._where if line is None else f"{self._where}, line {line}"

    def told(self, error: msgspec.ValidationError, kind: type, table: tuple[str, ...], *, hint: str) -> UsageError:
        """Return msgspec's message about a table of the given kind, told to whoever wrote the file."""
        what, _, at = str(error).partition(" - at ")
        path = (*table, *re.findall(r"[^.\[\]$`]+", re.sub(r"\[.*?\]", "", at)))
        if named := re.search(r"unknown field `(.+)`", what):
            key = named.group(1)
            valid = _keys(_table_at(kind, path[len(table) :]))
            return UsageError(
                f"{self.place((*path, key))}: unknown key {key!r}.{nearest(key, valid)} "
                f"Valid keys here: {', '.join(valid)}.",
                hint=hint,
            )
        if named := re.search(r"missing required field `(.+)`", what):
            return UsageError(f"{self.place(path)}: the key {named.group(1)!r} is missing.", hint=hint)
        return UsageError(f"{self.place(path)}: {path[-1]!r} is wrong: {_in_toml(what)}.", hint=hint)


def _in_toml(what: str) -> str:
    """What msgspec said, a table being called a table."""
    return what[0].lower() + what[1:].replace("`object`", "`table`")


def _table_at(kind: Any, path: Sequence[str]) -> Any:
    """The kind of a table within a table."""
    for name in path:
        kind = next(field.type for field in _fields(kind) if field.encode_name == name)
    return kind


def _keys(kind: Any) -> list[str]:
    """The keys of a table, and those of the tables within it, dotted."""
    return [
        key
        for field in _fields(kind)
        for key in (field.encode_name, *(f"{field.encode_name}.{inner}" for inner in _keys(field.type)))
    ]


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a record, also of one that may be missing or stands in an array."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return msgspec.structs.fields(kind)
    return next((found for inner in get_args(kind) if (found := _fields(inner))), ())
