"""One engine's adapter: its form for either interface, and the signs by which a server shows that it is this engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specaudit.engines.form import Form
from specaudit.engines.http import HttpClient, one_line
from specaudit.engines.interface import EngineFailure
from specaudit.model.plan import Api

_SHOWN = 60
"""Characters of a version that are kept."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """How a server shows which engine it is."""

    owner: str | None = None
    """What its list of models says under `owned_by`."""
    page: str = ""
    """A page of the engine's own, below the server's root, that is asked with GET."""
    marks: frozenset[str] = frozenset()
    """Fields that this page has and no other engine's; empty where it proves nothing."""
    version: str = "version"
    """The field of that page in which the version stands."""

    def owns(self, listing: Mapping[str, Any]) -> bool:
        """True if a list of models says that this engine serves them."""
        entries = listing.get("data")
        first = entries[0] if isinstance(entries, list) and entries else None
        return self.owner is not None and isinstance(first, dict) and first.get("owned_by") == self.owner

    async def look(self, client: HttpClient) -> Mapping[str, Any] | None:
        """Return the engine's own page; None where the server has none."""
        try:
            return await client.get_json(self.page) if self.page else None
        except EngineFailure:
            return None

    def told(self, page: Mapping[str, Any] | None) -> str | None:
        """Return the version that a page tells; None where it tells none."""
        version = None if page is None else page.get(self.version)
        return one_line(version)[:_SHOWN] or None if isinstance(version, str) else None


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """What is known of one engine's server."""

    name: str
    """By which `--engine` asks for it."""
    form: Callable[[Api], Form]
    sign: Sign = Sign()


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """Which engine a server is taken for."""

    form: Form
    version: str | None = None
    known: bool = True
    """An adapter here is made for it; otherwise it is asked as any OpenAI-compatible server."""


async def settled(adapter: Adapter, client: HttpClient, api: Api) -> Recognised:
    """Return what the server of an engine that is known says of its version."""
    return Recognised(form=adapter.form(api), version=adapter.sign.told(await adapter.sign.look(client)))
