"""How fast and how often requests are sent: within the limits a minute, no faster than a server lets them in.

Probing and collecting ask in the same way.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina

from specaudit.engines.interface import EngineFailure
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest
from specaudit.model.limits import Limits

MINUTE = 60.0

PATIENCE = 600.0
"""Seconds after which a server that lets nothing in is given up, and the longest wait that it may ask for."""

_FIRST_INTERVAL = 0.05
"""Seconds between requests after the first refusal; each further one doubles them, each admission takes a tenth off."""

_LONGEST_PAUSE = 30.0
"""Seconds of silence after a refusal that names none; the first such silence is a second, then they double."""


ATTEMPTS = 4
"""At one request that was refused before anything was generated, limits on the rate not counted."""

REFUSED_FOR_GOOD = (400, 401, 403, 404, 405, 422)
"""HTTP statuses that asking again will not change."""

T = TypeVar("T")

logging.getLogger("stamina").addHandler(logging.NullHandler())  # every retry is in the evidence already


def limits_rate(failure: Failure) -> bool:
    """Say whether a refusal only wants requests to come later: nothing failed, and nothing was generated."""
    return failure.status == 429 or (failure.status == 503 and failure.retry_after is not None)


class Pacer:
    """Gives requests their turn, in the order in which they ask.

    Requests are spread evenly over the minute: servers that count by the second would refuse a burst. Tokens are
    counted over the last minute, each request with the most that it may cost. After a refusal nothing is sent for as
    long as the server says, and then at growing intervals until it refuses no more.

    Args:
        limits: requests and tokens a minute.
        clock: seconds, never going back.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._last = self._held = self._refused = float("-inf")
        """When the last request was sent, until when none is sent, and when the last one was refused."""
        self._interval = 0.0 if limits.rpm is None else MINUTE / limits.rpm
        self._learned = 0.0
        self._pause = 0.0
        self._shut_since: float | None = None
        self._sent: deque[tuple[float, int]] = deque()

    async def turn(self, tokens: int) -> float:
        """Wait until a request of so many tokens may be sent; return when that is, by the clock.

        Raises:
            CouldNotTest: a minute is never long enough for it.
        """
        if self._limits.tpm is not None and tokens > self._limits.tpm:
            raise CouldNotTest(
                f"A request of up to {tokens:,} tokens is more than --tpm {self._limits.tpm:g} allows in a minute.",
                hint="Set fewer choices under the checks of the suite, or raise --tpm",
            )
        async with self._turn:
            while (wait := self._earliest(tokens) - self._clock()) > 0:
                await self._sleep(wait)
            self._last = self._clock()
            if self._limits.tpm is not None:
                self._sent.append((self._last, tokens))
            return self._last

    async def let_in(self, ask: Callable[[], Awaitable[T]], tokens: int, slowed: Callable[[], None]) -> T:
        """Ask at the pace that is allowed, until the request is let in: a limit on the rate is no failure.

        Args:
            ask: sends the request.
            tokens: what it may cost at most.
            slowed: called when it is refused for its rate.

        Raises:
            EngineFailure: it is refused for another reason, or lost.
            CouldNotTest: the server lets nothing in.
        """
        while True:
            sent = await self.turn(tokens)
            try:
                answer = await ask()
            except EngineFailure as error:
                if not limits_rate(error.failure):
                    raise
                self.refused(error.failure, sent)
                slowed()
            else:
                self.admitted()
                return answer

    async def patiently(
        self, ask: Callable[[], Awaitable[T]], tokens: int, slowed: Callable[[], None] = lambda: None
    ) -> T:
        """Ask until answered, refused for good, or lost; see `let_in`."""
        try:
            return await self.let_in(ask, tokens, slowed)
        except EngineFailure as error:
            if not _may_ask_again(error):
                raise
        async for attempt in stamina.retry_context(on=_may_ask_again, attempts=ATTEMPTS - 1, timeout=60.0):
            with attempt:
                return await self.let_in(ask, tokens, slowed)
        raise AssertionError("a retry ends with an answer or an error")

    def refused(self, failure: Failure, sent: float) -> None:
        """Note that a request which was sent at a time was refused for its rate.

        Raises:
            CouldNotTest: the server asks for more patience than there is.
        """
        now = self._clock()
        if sent > self._refused:  # of requests that were in flight together, the first tells all there is to learn
            self._pause = min(_LONGEST_PAUSE, max(1.0, 2 * self._pause))
        self._refused = now
        pause = self._pause if failure.retry_after is None else failure.retry_after
        self._held = max(self._held, now + pause)
        if self._shut_since is None:
            self._shut_since = now
            self._learned = min(MINUTE, max(_FIRST_INTERVAL, 2 * self._learned))
        if pause > PATIENCE or now - self._shut_since > PATIENCE:
            raise CouldNotTest(
                f"{failure.message} It lets in no request for more than {PATIENCE / MINUTE:g} minutes.",
                hint="specaudit run --resume DIR, later",
            )

    def admitted(self) -> None:
        """Note that a request was let in."""
        self._shut_since = None
        self._pause = 0.0
        self._learned *= 0.9

    def _earliest(self, tokens: int) -> float:
        """When a request of so many tokens may be sent, as things stand."""
        return max(self._held, self._last + max(self._interval, self._learned), self._room_for(tokens))

    def _room_for(self, tokens: int) -> float:
        """When the tokens of the last minute leave room for so many more."""
        if self._limits.tpm is None:
            return float("-inf")
        while self._sent and self._sent[0][0] <= self._clock() - MINUTE:
            self._sent.popleft()
        over = sum(sent for _, sent in self._sent) + tokens - self._limits.tpm
        room = float("-inf")
        for when, sent in self._sent:
            if over <= 0:
                break
            over -= sent
            room = when + MINUTE
        return room


def _may_ask_again(error: Exception) -> bool:
    """Only what was refused before anything was generated: drawing again would choose among draws."""
    return isinstance(error, EngineFailure) and not error.failure.lost and error.failure.status not in REFUSED_FOR_GOOD
