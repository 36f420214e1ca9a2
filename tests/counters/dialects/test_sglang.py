import pytest

from specaudit.counters.acceptance import acceptance
from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.read import read_page
from specaudit.counters.windows import window

from ..recorded import page, reading


def test_a_page() -> None:
    after = reading("sglang/after")
    assert (after.drafts, after.generation_tokens, after.requests_finished) == (2400, 7240, 80)
    assert (after.draft_tokens, after.accepted, after.accepted_per_position) == (None, None, ())
    assert after.draft_limit == 3
    assert after.marker == ()


def test_the_users_length_is_all_that_its_counters_tell() -> None:
    judged = window(reading("sglang/before"), reading("sglang/after"), received_tokens=6040, requests=40)
    assert (judged.status, judged.reasons) == ("valid", ())
    figures = acceptance([judged], confidence=0.99)
    assert figures is not None
    assert figures.verifier_length is None
    assert figures.draft_acceptance_rate is None
    assert (figures.rejecting_steps, figures.bonus_rows) == (None, None)
    assert figures.user_length == figures.length
    assert figures.length is not None
    assert figures.length.value == (6040 - 40) / 2000


def test_without_the_tokens_received_it_is_unverified() -> None:
    assert window(reading("sglang/before"), reading("sglang/after")).status == "unverified"


def test_gauges_alone_are_void() -> None:
    gauges = reading("sglang/gauges")
    judged = window(gauges, gauges, received_tokens=0, requests=0)
    assert judged.status == "void"
    assert "gauges of acceptance only" in judged.reasons[0]


def test_another_number_of_drafts_is_another_configuration() -> None:
    (after,) = read_page(page("sglang/after").replace('tp_rank="0"} 4.0', 'tp_rank="0"} 6.0'))
    judged = window(reading("sglang/before"), after, received_tokens=6040, requests=40)
    assert judged.status == "void"
    assert judged.reasons == ("the configuration changed: sglang:spec_num_draft_tokens",)


def test_a_plain_server_is_told_apart() -> None:
    lines = page("sglang/after").splitlines(keepends=True)
    with pytest.raises(NoSpeculationCounters, match="decodes plainly"):
        read_page("".join(line for line in lines if "spec_" not in line))
