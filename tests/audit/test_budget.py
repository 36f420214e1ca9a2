"""A budget is never exceeded, whatever requests cost and in whatever order they end; nor is it left unused."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.audit.budget import Ledger, LimitReached, spent_in, spent_on
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import AttemptEntry, Failure, ProbeEntry
from specaudit.model.limits import NOTHING, UNLIMITED, Limits, Spending, at_most
from tests.audit.fakes import TIMEOUT, answer, status
from tests.audit.small import made_stage, planned
from tests.model.builders import evidence

REQUEST = planned(0).request


def attempt(slot: int = 0, failure: Failure | None = None, *, number: int = 1) -> AttemptEntry:
    response = None if failure else answer(slot)
    return AttemptEntry(
        stage="T1", slot=slot, number=number, started="", seconds=0.0, response=response, failure=failure
    )


async def spend(ledger: Ledger, most: int, cost: int, seconds: float, served: list[int]) -> None:
    async with ledger.room_for(Spending(requests=1, generated_tokens=most)):
        assert ledger.spent.generated_tokens + most <= 1000
        await asyncio.sleep(seconds)
        ledger.book(Spending(requests=1, generated_tokens=cost))
        served.append(cost)


@given(
    sizes=st.lists(st.tuples(st.integers(1, 300), st.floats(0, 1)), min_size=1, max_size=30),
    concurrency=st.integers(1, 6),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_budget_is_never_exceeded_and_never_left_while_there_is_room(
    sizes: list[tuple[int, float]], concurrency: int, seed: int
) -> None:
    rng = random.Random(seed)
    served: list[int] = []

    async def run() -> int | None:
        """Return what the first request that found no room would have cost at most."""
        ledger = Ledger(Limits(token_budget=1000))
        tasks = iter(sizes)

        async def work() -> int | None:
            for most, share in tasks:
                try:
                    await spend(ledger, most, round(most * share), rng.choice([0.0, 0.0001]), served)
                except LimitReached:
                    return most
            return None

        ended = await asyncio.gather(*(work() for _ in range(concurrency)))
        assert ledger.spent.generated_tokens == sum(served)
        return next((most for most in ended if most is not None), None)

    refused = asyncio.run(run())
    assert sum(served) <= 1000
    if refused is None:
        assert len(served) == len(sizes)
    else:
        assert sum(served) + max(most for most, _ in sizes) > 1000


def test_a_request_waits_for_what_those_in_flight_leave() -> None:
    async def run() -> list[int]:
        ledger, served = Ledger(Limits(token_budget=1000)), []
        await asyncio.gather(*(spend(ledger, 600, 100, 0.001, served) for _ in range(4)))
        return served

    assert asyncio.run(run()) == [100] * 4


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(max_requests=2), "--max-requests 2 leaves no room for the next request: 2 requests spent."),
        (Limits(token_budget=9), "--token-budget 9 leaves no room for the next request: 8 tokens spent."),
        (
            Limits(price_out=1000.0, max_cost=0.005),
            "--max-cost 0.005 leaves no room for the next request: 0.004 spent.",
        ),
    ],
)
def test_what_is_left_is_told(limits: Limits, message: str) -> None:
    async def run() -> None:
        ledger = Ledger(limits, Spending(requests=2, prompt_tokens=4, generated_tokens=4))
        async with ledger.room_for(Spending(requests=1, prompt_tokens=2, generated_tokens=2)):
            pass

    with pytest.raises(LimitReached) as reached:
        asyncio.run(run())
    assert reached.value.message == message
    assert reached.value.option == message.split()[0]


def test_without_limits_there_is_always_room() -> None:
    async def run() -> None:
        async with Ledger(UNLIMITED).room_for(Spending(requests=10**9, generated_tokens=10**12)):
            pass

    asyncio.run(run())


@pytest.mark.parametrize("refusal", [status(429), status(400), status(503)], ids=str)
def test_a_refusal_costs_nothing(refusal: Failure) -> None:
    assert spent_on(REQUEST, attempt(failure=refusal)) == NOTHING


def test_what_was_lost_may_have_been_billed_to_the_last_token() -> None:
    assert spent_on(REQUEST, attempt(failure=TIMEOUT)) == at_most(REQUEST)


def test_what_an_audit_spent_is_read_from_its_evidence() -> None:
    probe = ProbeEntry(
        role="subject",
        capabilities=Capabilities(engine="fake"),
        spent=Spending(requests=7, prompt_tokens=70, generated_tokens=14),
    )
    attempts = [
        attempt(0, status(429)),
        attempt(0, number=2),
        attempt(1, TIMEOUT),
    ]
    found = spent_in(evidence(made_stage([2, 2]), attempts, probe))
    assert found == Spending(requests=9, prompt_tokens=74, generated_tokens=18)
