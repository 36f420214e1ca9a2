"""The base of all records and their canonical JSON form.

Canonical means: field order as declared, no white space, UTF-8. The same record therefore always has the
same bytes, which is what digests and chains of digests are made of.
"""

import hashlib
from typing import Any, TypeVar

import msgspec

from specaudit.model.errors import UsageError

FORM_VERSION = 1
"""Version of the JSON forms. It rises when a form changes so that an older reader would misread it."""

R = TypeVar("R")

_encoder = msgspec.json.Encoder()


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen, keyword-only record that refuses unknown fields when it is read."""


def to_json(value: Any) -> bytes:
    """Return the canonical JSON bytes of a record (or of plain data)."""
    return _encoder.encode(value)


def from_json(data: bytes | str, kind: type[R]) -> R:
    """Read a record of the given kind.

    Raises:
        msgspec.ValidationError: the data is JSON but not a record of that kind; the message names the field.
        msgspec.DecodeError: the data is not JSON.
    """
    return msgspec.json.decode(data, type=kind)


def digest(value: Any) -> str:
    """Return the SHA-256 (hex) of the canonical JSON bytes of a record."""
    return hashlib.sha256(to_json(value)).hexdigest()


class _Versioned(msgspec.Struct):
    version: int | None = None


class _AnyForm(_Versioned):
    """What the forms of all versions have in common; the first line of evidence holds its version in the plan."""

    plan: _Versioned = msgspec.field(default_factory=_Versioned)


def version_of(data: bytes) -> int | None:
    """Return the version of a report or of a plan's line, whatever else is in it; None where there is none."""
    try:
        form = msgspec.json.decode(data, type=_AnyForm)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return form.plan.version if form.version is None else form.version


def refuse_newer(version: int | None, where: str) -> None:
    """Refuse a form of a newer version, before its unknown fields are met.

    Raises:
        UsageError: it is newer than this reader; the message names both versions.
    """
    if version is not None and version > FORM_VERSION:
        raise UsageError(
            f"{where} was written by a newer specaudit: its form is version {version}, "
            f"and this specaudit reads version {FORM_VERSION}.",
            hint="pip install --upgrade specdec-audit",
        )
