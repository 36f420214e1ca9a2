from specaudit.counters.windows import window

from ..recorded import reading


def test_it_is_read_like_vllm() -> None:
    after = reading("lmdeploy/after")
    assert (after.replica, after.drafts, after.draft_tokens, after.accepted) == ("0", 850, 2550, 1530)
    assert after.accepted_per_position == (760, 500, 270)
    assert (after.generation_tokens, after.requests_finished) == (2425, 45)
    assert len(after.marker) == 2


def test_a_window_is_valid() -> None:
    judged = window(reading("lmdeploy/before"), reading("lmdeploy/after"), received_tokens=2280, requests=40)
    assert (judged.status, judged.reasons) == ("valid", ())


def test_the_first_draft_makes_the_positions_appear() -> None:
    judged = window(reading("lmdeploy/fresh"), reading("lmdeploy/before"), received_tokens=145, requests=5)
    assert judged.status == "void"
    assert 'position="0"' in judged.reasons[0]
