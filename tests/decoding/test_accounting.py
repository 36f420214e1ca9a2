import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.accounting import Accounting, Counters, Step

from .strategies import steady

WIDTH = 3


@st.composite
def steps(draw):
    rows = draw(st.lists(st.tuples(*[st.integers(0, WIDTH)] * 3), max_size=6))
    drafted = [n for n, _, _ in rows]
    verified = [min(n, m) for n, m, _ in rows]
    emitted = [max(1, a + 1 - cut) for a, (_, _, cut) in zip(verified, rows, strict=True)]
    return Step(drafted=np.array(drafted, int), verified=np.array(verified, int), emitted=np.array(emitted, int))


def test_a_step_is_counted_after_trimming():
    # A rejection, a bonus token, a stop on the second of three accepted drafts, an undrafted step.
    step = Step(drafted=np.array([3, 2, 3, 0]), verified=np.array([1, 2, 3, 0]), emitted=np.array([2, 3, 2, 1]))
    assert step.accepted.tolist() == [1, 2, 2, 0]
    assert step.trimmed.tolist() == [0, 0, 1, 0]
    accounting = Accounting(WIDTH)
    accounting.record(step)
    assert accounting.counters == Counters(
        accepted_per_position=(3, 2, 0),
        drafts=3,
        draft_tokens=8,
        accepted=5,
        undrafted=1,
        trimmed=1,
        generation_tokens=8,
    )


def test_finished_requests_are_counted_by_reason():
    accounting = Accounting(1)
    accounting.finish(stopped=2, at_length=3, prompt_tokens=40)
    accounting.finish(stopped=1, at_length=0, prompt_tokens=2, failed=4)
    assert accounting.counters == Counters(
        accepted_per_position=(0,), requests_stopped=3, requests_at_length=3, requests_failed=4, prompt_tokens=42
    )


def test_work_is_counted_apart_from_what_comes_of_it():
    accounting = Accounting(1)
    nothing = np.zeros(0, int)
    accounting.record(Step(drafted=nothing, verified=nothing, emitted=nothing, computed=7, replayed=3))
    accounting.record(Step(drafted=nothing, verified=nothing, emitted=nothing, computed=5))
    accounting.waste(4)
    assert accounting.counters == Counters(
        accepted_per_position=(0,), computed_tokens=12, replayed_tokens=3, wasted_tokens=4
    )


@steady
@given(history=st.lists(steps(), max_size=5))
def test_identities_hold_after_every_step(history):
    accounting = Accounting(WIDTH)
    for step in history:
        before = accounting.counters
        accounting.record(step)
        now = accounting.counters
        assert now.generation_tokens == now.accepted + now.drafts + now.undrafted - now.trimmed
        assert now.drafts + now.undrafted == before.drafts + before.undrafted + len(step.drafted)
        assert sum(now.accepted_per_position) == now.accepted <= now.draft_tokens <= WIDTH * now.drafts
        assert sorted(now.accepted_per_position, reverse=True) == list(now.accepted_per_position)
        assert max(now.accepted_per_position) <= now.drafts
        assert 0 <= now.trimmed <= now.drafts


def test_totals_are_replaced_not_changed():
    accounting = Accounting(0)
    before = accounting.counters
    accounting.record(Step(drafted=np.array([0]), verified=np.array([0]), emitted=np.array([1])))
    assert before == Counters(accepted_per_position=())
    assert accounting.counters == Counters(accepted_per_position=(), undrafted=1, generation_tokens=1)


def test_counters_of_different_widths_do_not_add_up():
    with pytest.raises(ValueError, match="shorter"):
        Counters(accepted_per_position=(1, 0)) + Counters(accepted_per_position=(1,))
