"""What answers say of their speculation is kept, whoever's words it is in, and nothing else is."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.answers import read_answer
from specaudit.engines.openai_answer import read_response
from specaudit.engines.openai_speculation import speculation_in
from tests.counters.recorded import answer

SGLANG = {"completion_tokens": 12, "spec_verify_ct": 4, "spec_num_correct_drafts": 7, "spec_num_proposed_drafts": 12}


@pytest.mark.parametrize("name", ["vllm_detailed", "llamacpp_chat", "llamacpp_completion", "sglang_meta_info"])
def test_what_is_kept_reads_as_the_whole_answer_did(name: str) -> None:
    whole = answer(name)
    kept = speculation_in(whole)
    assert kept is not None
    assert read_answer(kept | {"usage": whole.get("usage", {})}) == read_answer(whole)


@pytest.mark.parametrize(
    "told",
    [
        {"choices": [{"meta_info": SGLANG | {"id": "a", "output_token_logprobs": [[-0.1, 3, None]]}}]},
        {"choices": [{}], "sglext": {"spec_tokens_details": SGLANG}},
        {"meta_info": SGLANG | {"finish_reason": {"type": "length"}}},
    ],
)
def test_sglang_says_it_in_three_places(told: dict[str, Any]) -> None:
    assert speculation_in(told) == {"meta_info": SGLANG}


@pytest.mark.parametrize(
    "silent",
    [
        {},
        {"metrics": None, "timings": None, "sglext": 3, "choices": None},
        {"metrics": {"speculative_decoding": None}},
        {"timings": {"draft_nn": 10**30}},
        {"timings": {"predicted_n": 4}},
        {"choices": [{"meta_info": SGLANG}, {"meta_info": SGLANG}]},
        {"meta_info": {"completion_tokens": 4}},
    ],
)
def test_an_answer_may_say_nothing(silent: dict[str, Any]) -> None:
    assert speculation_in(silent) is None


def test_a_response_keeps_it() -> None:
    read = read_response(answer("llamacpp_chat"))
    assert read.speculation == {"timings": {"predicted_n": 12, "draft_n": 26, "draft_n_accepted": 3}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLACES = st.sampled_from(["metrics", "speculative_decoding", "timings", "draft_n", "meta_info", "spec_x", "choices"])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(told=st.dictionaries(PLACES, JSON | st.dictionaries(PLACES, JSON, max_size=3), max_size=4))
def test_no_json_raises_anything(told: dict[str, Any]) -> None:
    kept = speculation_in(told)
    assert kept is None or set(kept) <= {"metrics", "timings", "meta_info"}


def test_what_no_record_can_hold_is_left_out() -> None:
    assert speculation_in({"timings": {"draft_n": 10**30, "predicted_n": 3}}) == {"timings": {"predicted_n": 3}}
