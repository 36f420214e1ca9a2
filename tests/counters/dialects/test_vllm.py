import pytest

from specaudit.counters.dialects.vllm import VLLM
from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.page import PageError, parse

from ..recorded import page, reading


def test_a_recorded_page() -> None:
    after = reading("vllm/draft_after")
    assert (after.drafts, after.draft_tokens, after.accepted) == (43724, 131172, 5365)
    assert after.accepted_per_position == (3629, 1073, 663)
    assert (after.generation_tokens, after.requests_finished) == (67034, 20617)
    assert (after.requests_running, after.waiting, after.asleep, after.replica) == (0, 0, False, "0")
    assert len(after.series) == 6
    assert ("process_start_time_seconds", ()) in dict(after.marker)
    assert len(after.marker) == 8


def test_openmetrics_with_underscores_for_the_colon() -> None:
    lines = [line for line in page("vllm/eagle_after").splitlines() if not line.startswith("#")]
    text = "\n".join(line.replace("vllm:", "vllm_") for line in (*lines, "# EOF"))
    samples = parse(text)
    assert VLLM.recognises(samples)
    (after,), classic = VLLM.read(samples), reading("vllm/eagle_after")
    assert (after.drafts, after.accepted_per_position) == (classic.drafts, classic.accepted_per_position)
    assert [value for _, value in after.marker] == [value for _, value in classic.marker]


def test_the_counters_exist_at_zero_before_any_traffic() -> None:
    fresh = reading("vllm/draft_restart")
    assert (fresh.drafts, fresh.accepted_per_position) == (0, (0, 0, 0))


def test_a_plain_server_is_told_apart() -> None:
    with pytest.raises(NoSpeculationCounters, match="as soon as speculation is configured"):
        reading("vllm/plain_after")


def test_a_missing_series_is_named() -> None:
    text = "".join(
        line for line in page("vllm/eagle_after").splitlines(keepends=True) if "spec_decode_num_drafts" not in line
    )
    with pytest.raises(PageError, match="lacks vllm:spec_decode_num_drafts_total"):
        VLLM.read(parse(text))


def test_positions_with_a_gap_are_refused() -> None:
    text = page("vllm/eagle_after").replace('position="1"', 'position="7"')
    with pytest.raises(PageError, match="without a gap"):
        VLLM.read(parse(text))


def test_series_of_other_exporters_are_not_mixed_in() -> None:
    text = page("vllm/eagle_after") + "num_requests_running 3\ngeneration_tokens_total 9\n"
    assert VLLM.read(parse(text)) == (reading("vllm/eagle_after"),)


def test_a_sleeping_engine() -> None:
    text = page("vllm/eagle_after").replace('sleep_state="awake"} 1.0', 'sleep_state="awake"} 0.0')
    assert VLLM.read(parse(text))[0].asleep


def test_replicas_on_one_page_are_read_apart() -> None:
    lines = page("vllm/eagle_after").splitlines(keepends=True)
    second = [
        line.replace('engine="0"', 'engine="1"').replace(" 27688.0", " 27689.0")
        for line in lines
        if 'engine="0"' in line
    ]
    both = VLLM.read(parse("".join(lines + second)))
    assert [(one.replica, one.drafts) for one in both] == [("0", 27688), ("1", 27689)]
    assert both[0] == reading("vllm/eagle_after")
    assert all(("process_start_time_seconds", ()) in dict(one.marker) for one in both)
