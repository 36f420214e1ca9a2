"""Engines and metrics pages that do as they are told."""

import asyncio
from collections.abc import Callable

from specaudit.engines.interface import EngineFailure, Page, Probe
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import Failure
from specaudit.model.law import RevealedLaw
from specaudit.model.request import Request

Outcome = Response | Failure


def answer(seed: int) -> Response:
    """Two tokens that tell which request was answered."""
    return Response(completions=(Completion(tokens=(seed % 3, seed % 2), finish_reason="length"),))


def status(code: int, *, lost: bool = False, retry_after: float | None = None) -> Failure:
    message = f"The server answered {code}."
    return Failure(reason="status", message=message, status=code, retry_after=retry_after, lost=lost)


CONNECT = Failure(reason="connect", message="Nothing answers.", lost=False)
TIMEOUT = Failure(reason="timeout", message="No answer in time.", lost=True)


class FakeEngine:
    """Answers by the request's seed, which tells its slot; keeps count of what is in flight."""

    def __init__(
        self,
        outcome: Callable[[int, int], Outcome] = lambda seed, attempt: answer(seed),
        delay: Callable[[int], float] = lambda seed: 0.0,
    ) -> None:
        """Take the outcome by seed and attempt, and the seconds it takes by seed."""
        self._outcome = outcome
        self._delay = delay
        self.asked: list[int] = []
        self.in_flight = self.most_in_flight = 0

    async def complete(self, request: Request) -> Response:
        self.asked.append(request.seed)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self._delay(request.seed))
            outcome = self._outcome(request.seed, self.asked.count(request.seed))
        finally:
            self.in_flight -= 1
        if isinstance(outcome, Failure):
            raise EngineFailure(outcome)
        return outcome

    async def probe(self) -> Probe:
        return Probe(capabilities=Capabilities(engine="fake"))

    def law(self) -> RevealedLaw | None:
        return None

    async def close(self) -> None:
        pass


class FakePage:
    """Shows one page after the other; the last one stays."""

    def __init__(self, *pages: str | Failure) -> None:
        self._pages = list(pages)
        self.read = 0

    async def scrape(self) -> Page:
        self.read += 1
        page = self._pages[min(self.read, len(self._pages)) - 1]
        if isinstance(page, Failure):
            raise EngineFailure(page)
        return Page(text=page, content_type="text/plain", headers={"server": "fake"})
