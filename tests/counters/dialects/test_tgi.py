import pytest

from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.counters.windows import window

from ..recorded import page, reading


def test_the_histogram_is_of_steps() -> None:
    before = reading("tgi/before")
    # 60 steps, of which 10 ended prefill; 15 emitted two tokens and 15 three.
    assert (before.drafts, before.accepted, before.accepted_per_position) == (50, 45, (30, 15))
    assert (before.draft_tokens, before.draft_limit) == (None, 2)
    assert (before.generation_tokens, before.requests_finished) == (105, 10)


def test_a_window_needs_the_tokens_received() -> None:
    before, after = reading("tgi/before"), reading("tgi/after")
    judged = window(before, after, received_tokens=695, requests=50)
    assert (judged.status, judged.reasons) == ("valid", ())
    assert judged.generation_tokens == judged.sequences + judged.drafts + judged.accepted
    assert window(before, after).status == "unverified"


def test_quantiles_in_place_of_buckets_leave_the_positions_unknown() -> None:
    ends = []
    for name in ("tgi/before", "tgi/after"):
        lines = page(name).splitlines(keepends=True)
        ends += read_page("".join(line for line in lines if "skipped_tokens_bucket" not in line))
    judged = window(*ends, received_tokens=695, requests=50)
    assert judged.status == "unverified"
    assert "no per-position counters" in judged.reasons[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (page("tgi/plain"), "without --speculate"),
        ("tgi_queue_size 0\n", "nothing was generated yet"),
    ],
)
def test_a_server_that_does_not_speculate_is_told_apart(text: str, message: str) -> None:
    with pytest.raises(NoSpeculationCounters, match=message):
        read_page(text)


@pytest.mark.parametrize(("bound", "message"), [("7", "without a gap"), ("one", "no number"), ("inf", "no number")])
def test_odd_buckets_are_refused(bound: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        read_page(page("tgi/after").replace('tokens_bucket{le="1"}', f'tokens_bucket{{le="{bound}"}}'))
