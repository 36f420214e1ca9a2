"""Claim files: the shipped headlines by name, others by path."""

import tomllib
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from specaudit.model.claim import Claim
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.record import refuse_newer
from specaudit.model.toml_mistakes import read_toml


def shipped_claims() -> dict[str, Path]:
    """Return the path of every shipped claim by its name."""
    package = Path(str(files("specaudit")))
    folder = package / "shipped" / "suites" / "claims"
    if not folder.is_dir():
        folder = package.parent / "suites" / "claims"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_claim(name: str) -> Claim:
    """Return a shipped claim by name, or a claim file by path.

    Raises:
        UsageError: there is none, or it has a mistake; the message names line, key and the nearest valid key.
    """
    known = shipped_claims()
    path = known.get(name, Path(name))
    if name not in known and path.suffix != ".toml":
        raise UsageError(f"There is no claim {name!r}.{nearest(name, known)}", hint="specaudit list claims")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="specaudit list claims") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text, so it is no claim.", hint="specaudit list claims") from error
    _refuse_newer(text, str(path))
    return read_toml(text, Claim, f"claim {name}" if name in known else str(path), hint="specaudit schema claim")


def _refuse_newer(text: str, where: str) -> None:
    """Refuse a form of a newer version before its unknown keys are met; what is no TOML is told later."""
    with suppress(tomllib.TOMLDecodeError):
        version = tomllib.loads(text).get("version")
        refuse_newer(version if isinstance(version, int) else None, where)
