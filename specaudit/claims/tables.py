"""The tables of devices and models: the shipped rows, and those of a user's own files."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from specaudit.claims.architecture import Architecture, check_architecture
from specaudit.claims.hardware import Device, check_device
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.record import Record
from specaudit.model.toml_mistakes import read_toml


class Row(Protocol):
    """A row that is found by its name or one of its aliases."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """What else it is called."""
        ...


R = TypeVar("R", bound=Row)


class DeviceFile(Record, frozen=True, kw_only=True):
    """A TOML file of `[[device]]` rows."""

    device: tuple[Device, ...]


class ModelFile(Record, frozen=True, kw_only=True):
    """A TOML file of `[[model]]` rows."""

    model: tuple[Architecture, ...]


F = TypeVar("F", DeviceFile, ModelFile)

_FORMS: dict[type[Record], str] = {DeviceFile: "hardware", ModelFile: "models"}
"""What `specaudit schema` calls the form of a table."""


class Table(Generic[R]):
    """Rows by name; a later row of the same name takes the place of an earlier one.

    Args:
        kind: what a row is, in a word.
        rows: the rows.
        option: the command-line option by which a user adds some.
    """

    def __init__(self, kind: str, rows: Sequence[R], option: str) -> None:
        self.kind = kind
        self.rows = {row.name: row for row in rows}
        self._option = option
        self._keys = {_key(word): row.name for row in rows for word in (row.name, *row.aliases)}

    def get(self, name: str) -> R | None:
        """Return a row by its name or an alias; None where there is none."""
        found = self._keys.get(_key(name)) or self._keys.get(_key(name.rpartition("/")[2]))
        return None if found is None else self.rows[found]

    def find(self, name: str, what: str = "") -> R:
        """Return a row by its name or an alias; case, blanks, dashes and an owner before a slash do not count.

        Raises:
            UsageError: there is none; the message names the nearest, and how to add it.
        """
        found = self.get(name)
        if found is not None:
            return found
        where = f"{what}: " if what else ""
        raise UsageError(
            f"{where}there is no {self.kind} {name!r} in the table.{nearest(name, self.rows)} "
            f"There are: {', '.join(self.rows)}.",
            hint=f"Add it in a file with its source: {self._option} FILE",
        )


def _key(name: str) -> str:
    return "".join(character for character in name.lower() if character not in " -_")


def _shipped(name: str) -> str:
    return (files("specaudit") / "claims" / "data" / name).read_text(encoding="utf-8")


def devices(own: Sequence[Device] = ()) -> Table[Device]:
    """Return the table of devices: the shipped ones, and a user's own.

    Raises:
        UsageError: a row of the user's cannot be right.
    """
    shipped = msgspec.toml.decode(_shipped("hardware.toml"), type=DeviceFile).device
    known = Table("device", shipped, "--hardware")
    for row in own:
        check_device(row, known.get(row.name))
    return Table("device", (*shipped, *own), "--hardware")


def models(own: Sequence[Architecture] = ()) -> Table[Architecture]:
    """Return the table of models: the shipped ones, and a user's own.

    Raises:
        UsageError: a row of the user's cannot be right.
    """
    shipped = msgspec.toml.decode(_shipped("models.toml"), type=ModelFile).model
    for row in own:
        check_architecture(row)
    return Table("model", (*shipped, *own), "--models")


def read_devices(paths: Sequence[Path]) -> tuple[Device, ...]:
    """Read rows of the hardware table from files.

    Raises:
        UsageError: a file cannot be read, or is no such table; the message names file and line.
    """
    return tuple(row for path in paths for row in _read(path, DeviceFile).device)


def read_models(paths: Sequence[Path]) -> tuple[Architecture, ...]:
    """Read rows of the model table from files; raises as `read_devices` does."""
    return tuple(row for path in paths for row in _read(path, ModelFile).model)


def _read(path: Path, kind: type[F]) -> F:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", hint="Give a TOML file of rows") from error
    return read_toml(text, kind, str(path), hint=f"specaudit schema {_FORMS[kind]}")
