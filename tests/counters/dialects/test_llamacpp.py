import pytest

from specaudit.counters.dialects.llamacpp import LLAMACPP
from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.page import parse
from specaudit.counters.windows import window

from ..recorded import page, reading


def test_a_recorded_page() -> None:
    draft = reading("llamacpp/draft")
    assert (draft.drafts, draft.draft_tokens, draft.accepted) == (152512, 325144, 121815)
    assert draft.accepted_per_position == (98776, 16112, 6927)
    assert draft.generation_tokens == 364508
    assert draft.requests_finished is None
    assert draft.marker == ()
    assert draft.replica == ""


def test_positions_are_absent_before_the_first_finished_request() -> None:
    plain = reading("llamacpp/plain")
    assert (plain.drafts, plain.accepted_per_position) == (0, ())


def test_an_older_build_has_no_counters() -> None:
    text = "".join(line for line in page("llamacpp/plain").splitlines(keepends=True) if "spec_decode" not in line)
    with pytest.raises(NoSpeculationCounters, match="does not export them"):
        LLAMACPP.read(parse(text))


@pytest.mark.parametrize(
    ("printed", "step"), [("999999", 1), ("1.00000e+06", 10), ("1.27962e+06", 10), ("5.12345e+07", 100)]
)
def test_large_counters_are_rounded_by_six_digits(printed: str, step: float) -> None:
    text = page("llamacpp/draft").replace("tokens_predicted_total 364508", f"tokens_predicted_total {printed}")
    (reading,) = LLAMACPP.read(parse(text))
    assert reading.step == step


def test_a_window_of_rounded_counters_is_void_and_blames_nobody() -> None:
    """Seen on build 11549: 1,024 tokens received, 1,030 or 1,020 counted, and no other client."""
    text = page("llamacpp/draft")
    ends = ("1.27962e+06", "1.28065e+06")
    before, after = (
        LLAMACPP.read(parse(text.replace("tokens_predicted_total 364508", f"tokens_predicted_total {end}")))[0]
        for end in ends
    )
    judged = window(before, after, received_tokens=1024, requests=32)
    assert judged.status == "void"
    assert "rounded to 10" in judged.reasons[0]
    assert not any("somebody else" in reason for reason in judged.reasons)
    assert not judged.contradicts
