"""What an audit has spent, and whether there is room for the next request within its limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from specaudit.model.entries import AttemptEntry, ProbeEntry
from specaudit.model.errors import CouldNotTest
from specaudit.model.evidence import Evidence
from specaudit.model.limits import NOTHING, Limits, Spending, at_most, cost_of
from specaudit.model.request import Request

PROBING = Spending(requests=60, prompt_tokens=4000, generated_tokens=1000)
"""What probing one server costs at most: some twenty requests for two tokens each, one of them 64 times."""


class LimitReached(CouldNotTest):
    """There is no room for the next request."""

    def __init__(self, limits: Limits, option: str, spent: Spending) -> None:
        amount, limit = {
            "--max-requests": (f"{spent.requests:,} requests", limits.max_requests),
            "--token-budget": (f"{spent.tokens:,} tokens", limits.token_budget),
            "--max-cost": (f"{limits.cost(spent) or 0.0:.4g}", limits.max_cost),
        }[option]
        super().__init__(
            f"{option} {limit:g} leaves no room for the next request: {amount} spent.",
            hint=f"specaudit run --resume DIR {option} …, to go on with more",
        )
        self.option = option


class Ledger:
    """Sets aside what a request may cost at most before it is sent, and books what it did cost.

    Requests are let through in the order in which they ask, so that a small one does not take what a larger one before
    it waits for.
    """

    def __init__(self, limits: Limits, spent: Spending = NOTHING) -> None:
        self.spent = spent
        """Booked so far."""
        self._limits = limits
        self._reserved = NOTHING
        self._turn = asyncio.Lock()
        self._released = asyncio.Event()

    @asynccontextmanager
    async def room_for(self, most: Spending) -> AsyncIterator[None]:
        """Keep what a request may cost at most set aside for the block; first wait for requests in flight to leave it.

        Raises:
            LimitReached: there is no room, and nothing is in flight that could leave any.
        """
        async with self._turn:
            while option := self._limits.exceeded_by(self.spent + self._reserved + most):
                if self._reserved == NOTHING:
                    raise LimitReached(self._limits, option, self.spent)
                self._released.clear()
                await self._released.wait()
            self._reserved += most
        try:
            yield
        finally:
            self._reserved -= most
            self._released.set()

    def book(self, cost: Spending) -> None:
        """Book what a request did cost, while what was set aside for it still is."""
        self.spent += cost


def spent_on(request: Request, attempt: AttemptEntry) -> Spending:
    """Return what an attempt is taken to have cost.

    An answer that was lost counts as what it may have cost at most; a refusal before anything was generated costs
    nothing, and is no request that was made.
    """
    if attempt.response is not None:
        return cost_of(request, attempt.response)
    return at_most(request) if attempt.failure is not None and attempt.failure.lost else NOTHING


def spent_in(evidence: Evidence) -> Spending:
    """Return what an audit has spent so far, probing included."""
    total = NOTHING
    for entry in evidence.entries:
        if isinstance(entry, ProbeEntry):
            total += entry.spent
    for name, stage in evidence.stages.items():
        requests = [planned.request for planned in stage.slots()]
        for attempt in evidence.attempts(name):
            total += spent_on(requests[attempt.slot], attempt)
    return total
