import pytest

from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.counters.windows import window

from ..recorded import page, reading


def test_drafts_are_those_at_position_0() -> None:
    after = reading("tensorrt-llm/after")
    assert (after.drafts, after.draft_tokens, after.accepted) == (1100, 3200, 1870)
    assert after.accepted_per_position == (870, 600, 400)
    assert (after.draft_limit, after.generation_tokens, after.requests_finished) == (3, 3020, 60)
    assert {series.name for series, _ in after.marker} == {
        "process_start_time_seconds",
        "trtllm_spec_decode_drafted_tokens_created",
    }


def test_a_window_is_valid() -> None:
    judged = window(reading("tensorrt-llm/before"), reading("tensorrt-llm/after"), received_tokens=2750, requests=50)
    assert (judged.status, judged.reasons) == ("valid", ())
    assert 1 + judged.accepted / judged.drafts == pytest.approx(2.72)


def test_without_counts_by_position_there_are_no_steps() -> None:
    gauges = reading("tensorrt-llm/gauges")
    assert (gauges.drafts, gauges.draft_tokens) == (None, 290)
    judged = window(gauges, gauges)
    assert judged.status == "void"
    assert "counts no steps" in judged.reasons[0]


def test_a_server_that_does_not_say_whether_it_is_busy_is_unverified() -> None:
    ends = []
    for name in ("tensorrt-llm/before", "tensorrt-llm/after"):
        lines = page(name).splitlines(keepends=True)
        ends += read_page("".join(line for line in lines if "num_requests" not in line))
    assert window(*ends).status == "unverified"
    assert "whether requests were running" in window(*ends).reasons[0]
    assert window(*ends, received_tokens=2750, requests=50).status == "valid"


def test_a_plain_server_is_told_apart() -> None:
    lines = page("tensorrt-llm/after").splitlines(keepends=True)
    with pytest.raises(NoSpeculationCounters, match="decodes plainly"):
        read_page("".join(line for line in lines if "spec_decode" not in line))


def test_a_gap_between_positions_is_refused() -> None:
    with pytest.raises(PageError, match="without a gap"):
        read_page(page("tensorrt-llm/after").replace('token_position="1"', 'token_position="9"'))
