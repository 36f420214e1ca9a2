"""The model that is asked for, among those that a server lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specaudit.engines.http import one_line
from specaudit.model.errors import CouldNotTest
from specaudit.model.nearest import nearest

_SHOWN = 10
"""Models that a sentence names."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """The model that is asked for."""

    name: str
    vocabulary_size: int | None
    """None where the server does not tell it."""
    served: tuple[str, ...]
    """All that the server lists."""


def choose_model(listing: Mapping[str, Any], wanted: str | None, where: str) -> Model:
    """Return the wanted model, or else the first that is listed.

    Gateways need not list models: one that is asked for by name is taken on trust then.

    Args:
        listing: the JSON object of `/models`.
        wanted: the name that was asked for.
        where: the server's address, for messages.

    Raises:
        CouldNotTest: the server lists others, or none where none is wanted.
    """
    served = _served(listing)
    if not served and wanted:
        return Model(name=wanted, vocabulary_size=None, served=())
    if not served:
        raise CouldNotTest(f"{where} lists no model.", hint=f"specaudit run --endpoint {where} --model NAME")
    name = next(iter(served)) if wanted is None else wanted
    if name not in served:
        listed = ", ".join(list(served)[:_SHOWN]) + (", …" if len(served) > _SHOWN else "")
        raise CouldNotTest(
            one_line(f"{where} does not serve the model {name!r}; it serves: {listed}.{nearest(name, served)}"),
            hint=one_line(f"specaudit run --endpoint {where} --model {next(iter(served))}"),
        )
    meta = served[name].get("meta")  # llama.cpp's place for it
    size = served[name].get("vocab_size") or (meta.get("n_vocab") if isinstance(meta, dict) else None)
    known = type(size) is int and 0 < size < 1 << 31
    return Model(name=name, vocabulary_size=size if known else None, served=tuple(served))


def _served(listing: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The listed models by name."""
    entries = listing.get("data")
    return {
        entry["id"]: entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }
