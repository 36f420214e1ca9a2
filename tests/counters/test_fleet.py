"""A part of the fleet that tests/benchmarks/counters.py simulates whole."""

import pytest

from .fleet import Tally, tally


@pytest.fixture(scope="module")
def fleet() -> Tally:
    return tally(range(250))


def test_no_valid_window_holds_a_reset_or_foreign_tokens(fleet: Tally) -> None:
    assert fleet.valid > 4000
    assert fleet.valid_with_a_reset == 0
    assert fleet.valid_with_foreign_tokens == 0


def test_without_a_mark_or_the_tokens_received_nothing_is_valid(fleet: Tally) -> None:
    assert fleet.valid_without_a_mark == 0


def test_clean_windows_are_kept(fleet: Tally) -> None:
    assert fleet.clean > 4000
    assert fleet.clean_and_kept == fleet.clean


def test_no_healthy_server_is_called_wrong(fleet: Tally) -> None:
    assert fleet.contradictions == 0


def test_intervals_cover(fleet: Tally) -> None:
    # At exactly 99 % more than 8 of some 160 miss in one of 10,000 runs; the long simulation tells more.
    assert fleet.intervals > 120
    assert fleet.intervals - fleet.covering <= 8
