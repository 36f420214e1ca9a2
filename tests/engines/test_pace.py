"""Requests and tokens of any minute stay within the limits, whatever the sizes; refusals slow down and recover."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.engines.pace import MINUTE, PATIENCE, Pacer, limits_rate
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest
from specaudit.model.limits import UNLIMITED, Limits
from tests.audit.clocks import Clock
from tests.audit.fakes import CONNECT, TIMEOUT, status


def pacer(limits: Limits) -> tuple[Pacer, Clock]:
    clock = Clock()
    return Pacer(limits, clock=clock, sleep=clock.sleep), clock


def sent(limits: Limits, sizes: Sequence[int]) -> list[float]:
    """When requests of these sizes were sent, all of them waiting for their turn at once."""
    paced, _ = pacer(limits)

    async def all_at_once() -> list[float]:
        return await asyncio.gather(*map(paced.turn, sizes))

    return asyncio.run(all_at_once())


def in_the_busiest_minute(times: Sequence[float], sizes: Sequence[int]) -> int:
    pairs = list(zip(times, sizes, strict=True))
    return max(sum(size for when, size in pairs if start <= when < start + MINUTE - 1e-9) for start in times)


@given(sizes=st.lists(st.integers(1, 100), min_size=1, max_size=40), tpm=st.integers(100, 400))
def test_no_minute_has_more_tokens_than_allowed_and_none_is_waited_in_vain(sizes: list[int], tpm: int) -> None:
    times = sent(Limits(tpm=tpm), sizes)
    assert times == sorted(times)
    assert in_the_busiest_minute(times, sizes) <= tpm
    for i in range(1, len(times)):
        if times[i] > times[i - 1]:  # a moment before, there was no room
            recent = sum(
                size for when, size in zip(times[:i], sizes[:i], strict=True) if when > times[i] - MINUTE - 1e-6
            )
            assert recent + sizes[i] > tpm


@given(count=st.integers(1, 50), rpm=st.integers(1, 600))
def test_requests_are_spread_over_the_minute(count: int, rpm: int) -> None:
    times = sent(Limits(rpm=rpm), [1] * count)
    assert in_the_busiest_minute(times, [1] * count) <= rpm
    assert times[-1] - times[0] == pytest.approx((count - 1) * MINUTE / rpm)


def test_without_limits_nothing_waits() -> None:
    assert len(set(sent(UNLIMITED, [1000] * 50))) == 1


def test_a_request_that_no_minute_has_room_for_is_told() -> None:
    with pytest.raises(CouldNotTest, match=r"^A request of up to 1,001 tokens is more than --tpm 1000 allows"):
        sent(Limits(tpm=1000), [1001])


@pytest.mark.parametrize(
    ("failure", "is_rate"),
    [
        (status(429), True),
        (status(503, retry_after=1.0), True),
        (status(503), False),
        (status(500), False),
        (CONNECT, False),
        (TIMEOUT, False),
    ],
    ids=str,
)
def test_what_is_a_limit_on_the_rate(failure: Failure, is_rate: bool) -> None:
    assert limits_rate(failure) is is_rate


def test_a_server_is_left_alone_for_as_long_as_it_says() -> None:
    paced, clock = pacer(UNLIMITED)
    first = asyncio.run(paced.turn(1))
    paced.refused(status(429, retry_after=17.0), first)
    assert asyncio.run(paced.turn(1)) == first + 17.0
    paced.refused(status(429), clock.now)
    assert asyncio.run(paced.turn(1)) == first + 17.0 + 2.0


def test_requests_that_were_refused_together_slow_down_once() -> None:
    paced, clock = pacer(UNLIMITED)
    times = [asyncio.run(paced.turn(1)) for _ in range(8)]
    clock.now += 0.5
    for when in times:
        paced.refused(status(429, retry_after=1.0), when)
    again = asyncio.run(paced.turn(1))
    assert again == times[0] + 1.5
    paced.admitted()
    assert asyncio.run(paced.turn(1)) - again == pytest.approx(0.045)


def test_the_interval_that_was_learned_is_forgotten_by_and_by() -> None:
    paced, _ = pacer(UNLIMITED)
    paced.refused(status(429, retry_after=0.0), asyncio.run(paced.turn(1)))
    gaps = []
    for _ in range(30):
        before = asyncio.run(paced.turn(1))
        paced.admitted()
        gaps.append(asyncio.run(paced.turn(1)) - before)
        paced.admitted()
    assert gaps[0] > 0.04
    assert gaps[-1] < 0.001


@pytest.mark.parametrize("retry_after", [PATIENCE + 1.0, 59.0, None])
def test_patience_has_an_end(retry_after: float | None) -> None:
    paced, clock = pacer(UNLIMITED)
    began = clock.now

    def refuse_all() -> None:
        for _ in range(100):
            paced.refused(status(429, retry_after=retry_after), asyncio.run(paced.turn(1)))

    with pytest.raises(CouldNotTest, match=r"^The server answered 429\. It lets in no request for more than 10 min"):
        refuse_all()
    assert clock.now - began <= PATIENCE + 60.0
    assert (clock.now == began) is (retry_after is not None and retry_after > PATIENCE)


def test_a_server_that_lets_some_in_is_never_given_up() -> None:
    paced, clock = pacer(UNLIMITED)
    for _ in range(60):
        paced.refused(status(429, retry_after=59.0), asyncio.run(paced.turn(1)))
        asyncio.run(paced.turn(1))
        paced.admitted()
    assert clock.slept
