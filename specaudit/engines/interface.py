"""What an engine must do to be audited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.entries import Failure
from specaudit.model.law import RevealedLaw
from specaudit.model.limits import NOTHING, Spending
from specaudit.model.request import Request

if TYPE_CHECKING:
    from specaudit.engines.pace import Pacer


class EngineFailure(Exception):
    """A request that gave no usable answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class NotOffered(EngineFailure):
    """A request that was not sent: the engine has no way to ask for it, or refuses what it needs."""

    def __init__(self, message: str) -> None:
        super().__init__(Failure(reason="status", message=message, status=400, lost=False))


@dataclass(frozen=True, kw_only=True)
class Access:
    """How to reach an engine. Never recorded: it holds the key."""

    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    """Seconds without a byte before an answer is given up."""
    connections: int = 8
    pacer: Pacer | None = None
    """Gives the requests of a probe their turn; None asks at once."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; their values are as secret as the key."""
    ca_file: Path | None = None
    """Certificates, in PEM, of the authorities that are trusted in place of the usual ones."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What probing found, and what was asked and answered, a line each."""

    capabilities: Capabilities
    exchanges: tuple[str, ...] = ()
    spent: Spending = NOTHING


@dataclass(frozen=True, kw_only=True)
class Page:
    """A metrics page as it came."""

    text: str
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """HTTP headers that it came with, names in lower case, cookies left out."""


class Engine(Protocol):
    """An engine in process or behind an address."""

    async def probe(self) -> Probe:
        """Find out by behaviour what the engine reveals.

        Raises:
            CouldNotTest: it cannot be reached, refuses the key, does not serve the model, or speaks no JSON.
        """
        ...

    async def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            EngineFailure: there is no usable answer; the failure says whether one may have been lost.
        """
        ...

    def law(self) -> RevealedLaw | None:
        """Return the exact target law, where the engine runs in process and has one."""
        ...

    async def close(self) -> None:
        """Release what the engine holds."""
        ...


@runtime_checkable
class Retokenizer(Protocol):
    """An engine whose text a tokenizer given by the user can divide into tokens."""

    def retokenize(self) -> None:
        """From now on, answer with the tokenizer's tokens in place of the engine's own."""
        ...


@runtime_checkable
class Scraper(Protocol):
    """Something whose metrics page can be read."""

    async def scrape(self) -> Page:
        """Read the page.

        Raises:
            EngineFailure: there is no page.
        """
        ...
