"""The nearest valid name to one that was mistyped."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ` Did you mean …?` for the nearest valid name, or nothing where none is near."""
    found = get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return f" Did you mean {found[0]!r}?" if found else ""
