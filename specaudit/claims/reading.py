"""Claim files: the shipped headlines by name, others by path."""

import tomllib
from contextlib import suppress
from pathlib import Path

from specaudit.model.claim import Claim
from specaudit.model.record import refuse_newer
from specaudit.model.shipped import named_text, shipped_files
from specaudit.model.toml_mistakes import read_toml


def shipped_claims() -> dict[str, Path]:
    """Return the path of every shipped claim by its name."""
    return shipped_files("claims")


def load_claim(name: str) -> Claim:
    """Return a shipped claim by name, or a claim file by path.

    Raises:
        UsageError: there is none, or it has a mistake; the message names line, key and the nearest valid key.
    """
    text, told = named_text("claim", name, shipped_claims())
    _refuse_newer(text, told)
    return read_toml(text, Claim, told, hint="specaudit schema claim")


def _refuse_newer(text: str, where: str) -> None:
    """Refuse a form of a newer version before its unknown keys are met; what is no TOML is told later."""
    with suppress(tomllib.TOMLDecodeError):
        version = tomllib.loads(text).get("version")
        refuse_newer(version if isinstance(version, int) else None, where)
