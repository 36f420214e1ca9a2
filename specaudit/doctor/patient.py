"""The endpoint under examination: asked with a note of every exchange, its counters read between requests."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specaudit.counters.interface import Reading
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.engines.asking import described, is_final
from specaudit.engines.interface import EngineFailure, NotOffered, Page, Scraper
from specaudit.engines.refusals import refuses
from specaudit.engines.server import ServerEngine
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.errors import CouldNotTest
from specaudit.model.request import Request

SETTLE_SECONDS = 0.05
"""Between the readings of a page that must agree: engines count a step after they have sent its tokens."""

_READINGS = 40


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What became of a request."""

    response: Response | None = None
    refusal: str = ""
    """Why there is no answer."""
    offered: bool = True
    """The interface has a way to ask for it."""
    refused: bool = False
    """The server refused what was asked, and did not merely fail."""

    @property
    def completion(self) -> Completion | None:
        """The first choice; None where there is none."""
        return self.response.completions[0] if self.response is not None and self.response.completions else None

    @property
    def said(self) -> object:
        """What can be compared: tokens where they are told, else text."""
        found = self.completion
        return None if found is None else found.tokens or found.text


@dataclass
class Patient:
    """One endpoint, probed before anything else is asked of it."""

    engine: ServerEngine
    found: Capabilities
    scraper: Scraper | None = None
    sent_tokens: int = field(default=0)
    """Tokens that were received since the count was last set to 0."""

    async def ask(self, request: Request, what: str, further: Mapping[str, Any] | None = None) -> Asked:
        """Ask a request that may be refused.

        Raises:
            CouldNotTest: the server would not answer any other request either.
        """
        asker = self.engine.asker
        try:
            response = await asker.ask(request, further)
        except NotOffered as error:
            return Asked(refusal=error.failure.message, offered=False)
        except EngineFailure as error:
            if is_final(error.failure):
                raise asker.could_not_test(error.failure) from error
            asker.note(f"{asker.post} {what}", error.failure.message)
            return Asked(refusal=error.failure.message, refused=refuses(error.failure))
        asker.note(f"{asker.post} {what}", described(response))
        self.sent_tokens += response.received or (response.completion_tokens or 0)
        return Asked(response=response)

    async def scrape(self) -> Page | None:
        """Read the metrics page when it has settled; None where none is named.

        Raises:
            CouldNotTest: it cannot be read.
        """
        if self.scraper is None:
            return None
        try:
            page = await self.scraper.scrape()
            for _ in range(_READINGS):
                before = counts(page)
                await asyncio.sleep(SETTLE_SECONDS)
                page = await self.scraper.scrape()
                if counts(page) == before:
                    break
        except EngineFailure as error:
            raise CouldNotTest(
                f"The metrics page cannot be read. {error.failure.message}", hint="specaudit doctor --metrics URL"
            ) from error
        return page


def counts(page: Page) -> list[str]:
    """The lines that move only when tokens are generated."""
    return [line for line in page.text.splitlines() if "token" in line and not line.startswith("#")]


def readings(page: Page | None) -> tuple[Sequence[Reading], str]:
    """Return the speculation counters of a page, or none and why."""
    if page is None:
        return (), "no metrics page was named"
    try:
        return read_page(page.text, page.content_type), ""
    except PageError as error:
        return (), str(error)
