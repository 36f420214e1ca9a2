from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.answer_lengths import lengths, verifier_length
from specaudit.counters.answer_windows import answer_window
from specaudit.counters.answers import AnswerCounts, AnswerError, read_answer, read_sglang, read_vllm
from specaudit.counters.defects import defects_in

from .recorded import answer


def test_vllms_request_metrics() -> None:
    counts = read_answer(answer("vllm_detailed"))
    assert counts == AnswerCounts(
        engine="vllm",
        completion_tokens=9,
        steps=3,
        draft_tokens=8,
        accepted=5,
        accepted_per_position=(2, 2, 1),
        drafted_per_step=(3, 3, 2),
        accepted_per_step=(3, 0, 2),
        claimed_length=pytest.approx(1 + 5 / 3),
    )


def test_what_came_after_each_step_tells_what_was_accepted() -> None:
    counts = read_answer({"emitted_per_step": [[1, 3, 1, 4], [1, 2]]})
    assert counts == AnswerCounts(
        engine="in process", completion_tokens=12, steps=4, accepted=6, accepted_per_step=(2, 0, 3, 1)
    )


def test_an_adapter_that_knows_how_many_drafts_a_step_had_is_believed() -> None:
    counts = read_answer({"emitted_per_step": [[2, 1, 1], [4, 1]], "drafted_per_step": [[3, 3, 0], [3, 1]]})
    assert counts == AnswerCounts(
        engine="in process",
        completion_tokens=9,
        steps=4,
        draft_tokens=10,
        accepted=4,
        drafted_per_step=(3, 3, 3, 1),
        accepted_per_step=(1, 0, 3, 0),
    )


def test_a_block_that_a_stop_cut_emits_no_more_than_its_drafts() -> None:
    counts = read_answer({"emitted_per_step": [[4]], "drafted_per_step": [[2]]})
    assert counts is not None
    assert counts.accepted == 2


def test_drafts_of_other_steps_are_refused() -> None:
    with pytest.raises(AnswerError, match="other steps"):
        read_answer({"emitted_per_step": [[2, 1]], "drafted_per_step": [[3]]})


@pytest.mark.parametrize("listed", [3, [1, 2], ["a"], [[-1]], [[True]]])
def test_what_is_no_list_of_counts_for_each_choice_is_refused(listed: object) -> None:
    with pytest.raises(AnswerError, match="emitted_per_step"):
        read_answer({"emitted_per_step": listed})


def test_sglangs_length_includes_the_prefill_token() -> None:
    counts = read_answer(answer("sglang_meta_info"))
    assert counts is not None
    assert (counts.engine, counts.steps, counts.draft_tokens, counts.accepted) == ("sglang", 4, 12, 7)
    assert counts.accepted_per_position == (3, 2, 2)
    assert counts.claimed_length == counts.completion_tokens / counts.steps != 1 + counts.accepted / counts.steps


@pytest.mark.parametrize(("name", "tokens", "drafts", "accepted"), [("chat", 12, 26, 3), ("completion", 8, 18, 0)])
def test_llamacpps_timings(name: str, tokens: int, drafts: int, accepted: int) -> None:
    counts = read_answer(answer(f"llamacpp_{name}"))
    assert counts == AnswerCounts(
        engine="llamacpp", completion_tokens=tokens, draft_tokens=drafts, accepted=accepted, steps=None
    )


@pytest.mark.parametrize(
    "silent",
    [
        {},
        {"metrics": None},
        {"metrics": {"speculative_decoding": None}},
        {"meta_info": {"completion_tokens": 4}},
        {"timings": {"predicted_n": 4}},
    ],
)
def test_an_answer_without_such_fields_says_nothing(silent: dict[str, Any]) -> None:
    assert read_answer(silent) is None


def vllm(**fields: object) -> dict[str, Any]:
    return {"metrics": {"speculative_decoding": fields}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_spec_steps": 4, "acceptance_histogram": [1, 2]}, "states 4 steps, and its lists add up to 3"),
        ({"num_accepted_draft_tokens": 9, "acceptance_histogram": [1, 2]}, "states 9 accepted drafts"),
        ({"num_draft_tokens": 9, "per_step_drafted": [3, 3]}, "states 9 draft tokens"),
        ({"num_accepted_draft_tokens": 1, "per_step_accepted": [1, 1]}, "states 1 accepted drafts"),
        ({"per_step_drafted": [3, 3], "per_step_accepted": [1]}, "lists 2 drafts and 1 verifications"),
        ({"per_step_drafted": [3, 1], "per_step_accepted": [1, 2]}, "accepted more than was drafted"),
        ({"num_draft_tokens": -1}, "num_draft_tokens is no count"),
        ({"num_draft_tokens": 0.5}, "num_draft_tokens is no count"),
        ({"num_draft_tokens": 10**5000}, "num_draft_tokens is no count"),
        ({"num_draft_tokens": True}, "num_draft_tokens is no count"),
        ({"acceptance_histogram": "1,2"}, "acceptance_histogram is no list"),
        ({"per_step_accepted": ["1"]}, "per_step_accepted is no count"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        read_vllm(vllm(**fields))


def test_sglangs_histogram_is_held_against_its_totals() -> None:
    fields = {"spec_verify_ct": 2, "spec_num_correct_drafts": 3, "spec_correct_drafts_histogram": [1, 1]}
    with pytest.raises(AnswerError, match="states 3 accepted drafts"):
        read_sglang({"meta_info": fields})


def openvino(accepted: int) -> dict[str, object]:
    """Four tokens behind the first in two steps, as the pipeline emitted them, and what it counts."""
    counts = {"num_draft_tokens": 6, "num_accepted_tokens": accepted, "num_rejected_tokens": 6 - accepted}
    return {"emitted_per_step": [[1, 1, 3]], "extended_perf_metrics": [counts]}


def test_openvinos_counters_stand_beside_what_each_step_emitted() -> None:
    counted = AnswerCounts(engine="openvino", completion_tokens=5, forwards=2, draft_tokens=6, accepted=2)
    assert read_answer(openvino(2)) == counted
    for tables in ({"num_accepted_tokens": 1}, [1]):
        with pytest.raises(AnswerError, match="no list of tables"):
            read_answer({"emitted_per_step": [[1]], "extended_perf_metrics": tables})


@pytest.mark.parametrize(("accepted", "wrong"), [(0, True), (1, True), (2, False), (3, False)])
def test_steps_emit_no_more_than_their_accepted_drafts_and_one_token(accepted: int, *, wrong: bool) -> None:
    """Counting past the end is another matter."""
    counts = read_answer(openvino(accepted))
    assert counts is not None
    judged = answer_window(counts, 5)
    assert judged.contradicts == wrong
    assert [defect.name for defect in defects_in(judged)] == ["accepted-uncounted"] * wrong


def test_the_mean_of_answers_is_not_the_pooled_length() -> None:
    short, long = AnswerCounts(engine="vllm", steps=1, accepted=3), AnswerCounts(engine="vllm", steps=99, accepted=0)
    found = lengths([short, long, AnswerCounts(engine="vllm", steps=0, accepted=0), AnswerCounts(engine="llamacpp")])
    assert found is not None
    assert (found.pooled, found.mean_of_answers, found.answers) == (1.03, 2.5, 2)
    assert lengths([]) is None


def test_an_answer_that_tells_its_steps_has_one_length() -> None:
    assert verifier_length(read_answer(answer("vllm_detailed")), 3) == (1 + 5 / 3, 1 + 5 / 3)


def test_an_answer_that_does_not_has_an_interval() -> None:
    """Twelve tokens, of which one is from prefill and three were accepted: eight steps, or up to three more."""
    assert verifier_length(read_answer(answer("llamacpp_chat")), 3) == (1 + 3 / 11, 1 + 3 / 8)


@pytest.mark.parametrize(
    "silent",
    [
        AnswerCounts(engine="llamacpp", completion_tokens=4),
        AnswerCounts(engine="llamacpp", accepted=4),
        AnswerCounts(engine="llamacpp", completion_tokens=1, accepted=0),
        AnswerCounts(engine="vllm", steps=0, accepted=0),
    ],
)
def test_without_steps_there_is_no_length(silent: AnswerCounts) -> None:
    assert verifier_length(silent, 3) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
FIELDS = (
    *("acceptance_histogram", "num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens", "per_step_accepted"),
    *("per_step_drafted", "mean_acceptance_length", "spec_verify_ct", "spec_num_correct_drafts", "spec_accept_length"),
    *("spec_correct_drafts_histogram", "completion_tokens", "draft_n", "draft_n_accepted", "predicted_n"),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(fields=JSON | st.dictionaries(st.sampled_from(FIELDS), JSON | st.lists(st.integers(-1, 9)), max_size=8))
def test_no_json_raises_anything_but_answer_errors(fields: Any) -> None:
    found_in = ({"metrics": {"speculative_decoding": fields}}, {"meta_info": fields}, {"timings": fields})
    for found in (*found_in, {"emitted_per_step": fields}, {"emitted_per_step": [], "extended_perf_metrics": fields}):
        try:
            counts = read_answer(found)
        except AnswerError:
            continue
        assert counts is None or isinstance(counts, AnswerCounts)
