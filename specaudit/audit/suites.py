"""Suites: the shipped ones by name, others by path, both from TOML."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from specaudit.audit.toml_lines import key_lines
from specaudit.checks import registry
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.suite import Suite

_SHIPPED = "shipped/suites"
"""Inside the wheel. In a checkout the same files stand in `suites/` beside the package."""


def shipped() -> dict[str, Path]:
    """Return the path of every shipped suite by its name."""
    package = Path(str(files("specaudit")))
    folder = package / _SHIPPED
    if not folder.is_dir():
        folder = package.parent / "suites"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_suite(name: str) -> Suite:
    """Return a shipped suite by name, or a suite file by path.

    Raises:
        UsageError: there is none, or it has a mistake; the message names key, line and the nearest valid key.
    """
    known = shipped()
    path = known.get(name, Path(name))
    if name not in known and path.suffix != ".toml":
        raise UsageError(f"There is no suite {name!r}.{nearest(name, known)}", hint="specaudit list suites")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="specaudit list suites") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text, so it is no suite.", hint="specaudit list suites") from error
    return parse_suite(text, f"suite {name}" if name in known else str(path))


def parse_suite(text: str, where: str) -> Suite:
    """Read a suite from TOML and check every check's settings.

    Raises:
        UsageError: it has a mistake; the message names key, line and the nearest valid key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}.", hint="specaudit run --suite quick") from error
    mistakes = _Mistakes(text, where)
    for path in _not_finite(data, ()):
        raise UsageError(
            f"{mistakes.place(path)}: {path[-1]!r} is no finite number.", hint="specaudit run --suite quick"
        )
    checks = data.get("checks")
    try:
        suite = msgspec.convert({**data, "checks": {}} if isinstance(checks, dict) else data, type=Suite)
    except msgspec.ValidationError as error:
        raise mistakes.told(error, Suite, (), hint="specaudit run --suite quick") from error
    for check_id, settings in data["checks"].items():
        table = ("checks", check_id)
        try:
            kind = registry.get(check_id).settings_type
            msgspec.convert(settings, type=kind)
        except UsageError as error:
            raise UsageError(f"{mistakes.place(table)}: {error.message}", hint=error.hint) from error
        except msgspec.ValidationError as error:
            raise mistakes.told(error, kind, table, hint=f"specaudit explain {check_id}") from error
    return msgspec.structs.replace(suite, checks=data["checks"])


def _not_finite(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys of numbers that JSON, and so evidence, cannot hold."""
    match value:
        case dict():
            for key, item in value.items():
                yield from _not_finite(item, (*path, key))
        case list():
            for item in value:
                yield from _not_finite(item, path)
        case float() if not isfinite(value):
            yield path


class _Mistakes:
    """Tells a mistake in a suite by its line, its key and the nearest valid key."""

    def __init__(self, text: str, where: str) -> None:
        self._lines = key_lines(text)
        self._where = where

    def place(self, path: Sequence[str]) -> str:
        """Return the file and the line of a key, or of the innermost table around it that has one."""
        prefixes = (tuple(path[:end]) for end in range(len(path), 0, -1))
        line = next((self._lines[prefix] for prefix in prefixes if prefix in self._lines), None)
        return self._where if line is None else f"{self._where}, line {line}"

    def told(self, error: msgspec.ValidationError, kind: type, table: tuple[str, ...], *, hint: str) -> UsageError:
        """Return msgspec's message about a table of the given kind, told to whoever wrote the suite."""
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
    is_table = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return msgspec.structs.fields(kind) if is_table else ()
