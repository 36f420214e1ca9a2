import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.steps import Steps, steps_taken


def test_without_trimming_what_was_accepted_makes_it_a_point() -> None:
    # 1 + (3 + 1) + (0 + 1) + (1 + 1) = 8 tokens from three steps
    assert steps_taken(8, 3, accepted=4, trimmed=False) == Steps(least=3, most=3)


def test_a_stop_inside_a_block_makes_it_an_interval() -> None:
    assert steps_taken(8, 3, accepted=4) == Steps(least=3, most=6)
    assert steps_taken(8, 3) == Steps(least=2, most=7)


@pytest.mark.parametrize("tokens", [0, 1])
def test_a_prefill_token_takes_no_step(tokens: int) -> None:
    assert steps_taken(tokens, 4, accepted=0) == Steps(least=0, most=0)


@pytest.mark.parametrize(("tokens", "limit", "accepted"), [(4, 3, 9), (1, 3, 1), (-1, 3, None), (4, -1, None)])
def test_what_cannot_be_is_refused(tokens: int, limit: int, accepted: int | None) -> None:
    with pytest.raises(ValueError, match=r"cannot have been accepted|are no counts"):
        steps_taken(tokens, limit, accepted)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), limit=st.integers(1, 6), cap=st.integers(1, 40))
def test_the_steps_of_a_decoder_are_among_them(seed: int, limit: int, cap: int) -> None:
    rng = np.random.default_rng(seed)
    tokens, steps, accepted = 1, 0, 0
    while tokens < cap:
        took = int(rng.integers(0, limit + 1))
        tokens, steps, accepted = tokens + took + 1, steps + 1, accepted + took
    untrimmed, tokens = tokens, min(tokens, cap)
    for found in (steps_taken(tokens, limit), steps_taken(tokens, limit, accepted)):
        assert found.least <= steps <= found.most
    if untrimmed == tokens:
        assert steps_taken(tokens, limit, accepted, trimmed=False) == Steps(least=steps, most=steps)
