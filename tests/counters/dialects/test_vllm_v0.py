from specaudit.counters.windows import window

from ..recorded import reading


def test_its_counters_are_read_and_called_unfit() -> None:
    after = reading("vllm-v0/after")
    assert (after.draft_tokens, after.generation_tokens, after.requests_finished) == (1200, 950, 60)
    assert (after.drafts, after.accepted) == (None, None)


def test_no_window_of_it_is_used() -> None:
    judged = window(reading("vllm-v0/before"), reading("vllm-v0/after"), received_tokens=790, requests=50)
    assert judged.status == "void"
    assert "match behind a rejection" in judged.reasons[0]
