import pytest

from specaudit.serve.limits import RateLimit


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize(("per_minute", "burst", "seconds"), [(60, 2, 1), (6, 1, 10), (600, 20, 1), (1, 1, 60)])
def test_what_is_beyond_the_limit_is_told_when_to_come_back(clock, per_minute, burst, seconds):
    limit = RateLimit(per_minute, clock=clock)
    assert [limit.retry_after() for _ in range(burst + 1)] == [*[None] * burst, seconds]
    clock.now += seconds
    assert limit.retry_after() is None


def test_a_refused_request_uses_nothing_up(clock):
    limit = RateLimit(60, clock=clock)
    for _ in range(10):
        limit.retry_after()
    clock.now += 1
    assert limit.retry_after() is None
    assert limit.retry_after() == 1


def test_idle_time_is_not_saved_up(clock):
    limit = RateLimit(60, clock=clock)
    clock.now += 3600
    assert sum(limit.retry_after() is None for _ in range(10)) == 2
