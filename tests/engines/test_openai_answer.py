import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.engines.openai_answer import read_response
from specaudit.model.completion import Response, TokenLogprobs
from specaudit.model.record import from_json, to_json
from tests.engines.serving import recorded


def choice(**fields):
    return {"index": 0, "text": "ab", "finish_reason": "length", **fields}


def read(*choices, **fields):
    return read_response({"choices": list(choices), **fields})


def logprobs_of(data):
    return read(choice(logprobs=data)).completions[0].logprobs


class TestRecordedAnswers:
    def test_vllm_with_token_ids_and_logprobs(self):
        response = read_response(recorded("vllm_logprobs"))
        (completion,) = response.completions
        assert completion.tokens == (294, 422, 334, 326, 317, 407, 353, 379, 88, 66, 90, 13)
        assert completion.text == "an any that example not alway,"
        assert completion.finish_reason == "length"
        assert len(completion.logprobs) == 12
        assert completion.logprobs[0] == TokenLogprobs(
            token="an",
            logprob=-2.2900195121765137,
            top=(("t", -1.833177924156189), ("i", -1.9366811513900757), ("an", -2.2900195121765137)),
        )
        assert response.prompt_token_ids == (0, 80, 81, 82)
        assert (response.prompt_tokens, response.completion_tokens) == (4, 12)

    def test_vllm_with_three_choices(self):
        response = read_response(recorded("vllm_n3"))
        assert [completion.tokens for completion in response.completions] == [
            (273, 81, 356, 74, 281, 291),
            (15, 1),
            (313, 85, 484, 277, 302, 284),
        ]
        assert [completion.finish_reason for completion in response.completions] == ["length", "stop", "length"]
        assert {completion.logprobs for completion in response.completions} == {None}
        assert response.completion_tokens == 14

    @pytest.mark.parametrize("name", ["llamacpp_plain", "llamacpp_draft"])
    def test_llamacpp_tells_ids_in_its_logprobs(self, name):
        response = read_response(recorded(name))
        (completion,) = response.completions
        assert completion.tokens == (12, 28, 17, 3, 31, 17)
        assert completion.text == "iyn 1n"
        assert completion.logprobs[0].top[:2] == ((12, -0.2875758111476898), (14, -2.760748863220215))
        assert response.prompt_token_ids is None
        assert (response.prompt_tokens, response.completion_tokens) == (4, 6)

    def test_llamacpp_reports_nothing_about_the_tokens_of_a_verification_step(self):
        plain, draft = (read_response(recorded(f"llamacpp_{name}")).completions[0] for name in ("plain", "draft"))
        assert [len(position.top) for position in plain.logprobs] == [3] * 6
        assert [len(position.top) for position in draft.logprobs] == [3, 0, 0, 0, 0, 3]
        assert [position.logprob for position in draft.logprobs[1:5]] == [0.0] * 4

    def test_llamacpp_answers_a_conversation(self):
        response = read_response(recorded("llamacpp_chat"))
        (completion,) = response.completions
        assert completion.text == '::= [" \'". E'
        assert completion.tokens[:3] == (27, 27, 30)
        assert (response.prompt_tokens, response.completion_tokens, response.cached_tokens) == (39, 12, 0)

    def test_vllm_scores_a_prompt(self):
        response = read_response(recorded("vllm_prompt_logprobs"), score_from=1)
        assert [score.token for score in response.scores] == [316, 387]
        assert response.scores[0] == TokenLogprobs(
            token=316,
            logprob=-3.566593647003174,
            top=((278, -1.7622789144515991), (296, -2.8578524589538574), (316, -3.566593647003174)),
        )
        first = read_response(recorded("vllm_prompt_logprobs"), score_from=0).scores[0]
        assert first == TokenLogprobs(token=474, logprob=None)
        assert read_response(recorded("vllm_prompt_logprobs")).scores is None


class TestConversations:
    def test_the_message_is_the_text(self):
        (completion,) = read({"message": {"role": "assistant", "content": "hello"}}).completions
        assert (completion.text, completion.reasoning, completion.reasoning_length) == ("hello", None, None)

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    def test_reasoning_is_a_segment_of_its_own(self, name):
        (completion,) = read({"message": {"content": "b", name: "a"}}).completions
        assert (completion.text, completion.reasoning) == ("b", "a")

    def test_a_prompts_ids_may_stand_beside_the_choices(self):
        assert read({"message": {"content": "b"}}, prompt_token_ids=[1, 2]).prompt_token_ids == (1, 2)

    def test_what_is_billed_in_detail_is_kept(self):
        usage = {
            "prompt_tokens": 9,
            "completion_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 7},
            "completion_tokens_details": {"reasoning_tokens": 6},
        }
        response = read({"message": {"content": "b"}}, usage=usage)
        assert (response.cached_tokens, response.reasoning_tokens) == (7, 6)
        nothing = read({}, usage={"prompt_tokens_details": None, "completion_tokens_details": {}})
        assert (nothing.cached_tokens, nothing.reasoning_tokens) == (None, None)

    @pytest.mark.parametrize(
        ("tokens", "reasoning", "billed", "length"),
        [
            ([1, 2, 3], "ab", 2, 2),
            ([1, 2, 3], "ab", 4, None),
            ([1, 2, 3], "ab", None, None),
            (["a", "b", "c"], "ab", None, 2),
            (["ab", "c"], "ab", None, 1),
            (["abc", "d"], "ab", None, None),
            (["x", "b"], "ab", None, None),
            (["a", 7, "b"], "ab", None, 3),
            ([1, 2], "", None, 0),
            (["a"], None, 1, None),
        ],
    )
    def test_where_reasoning_ends_is_billed_or_spelled(self, tokens, reasoning, billed, length):
        told = {"logprobs": {"content": [{"token": t} if isinstance(t, str) else {"id": t} for t in tokens]}}
        usage = {} if billed is None else {"completion_tokens_details": {"reasoning_tokens": billed}}
        (completion,) = read({"message": {"reasoning": reasoning}, **told}, usage=usage).completions
        assert completion.reasoning_length == length

    def test_a_bill_for_many_choices_says_nothing_of_one(self):
        two = [{"message": {"reasoning": "a"}, "token_ids": [1, 2]}] * 2
        response = read(*two, usage={"completion_tokens_details": {"reasoning_tokens": 2}})
        assert [completion.reasoning_length for completion in response.completions] == [None, None]


class TestChoices:
    def test_choices_are_put_in_order_of_their_index(self):
        response = read(*(choice(index=index, token_ids=[index]) for index in (2, 0, 1)))
        assert [completion.tokens for completion in response.completions] == [(0,), (1,), (2,)]

    def test_choices_without_index_keep_their_order(self):
        response = read({"token_ids": [5]}, {"token_ids": [4]})
        assert [completion.tokens for completion in response.completions] == [(5,), (4,)]

    def test_an_answer_may_have_no_choice(self):
        assert read().completions == ()

    @pytest.mark.parametrize("finish", ["length", "stop", "abort", None])
    def test_the_finish_reason_is_kept(self, finish):
        assert read(choice(finish_reason=finish)).completions[0].finish_reason == finish

    def test_usage_may_be_missing_or_null(self):
        assert read(choice()) == read(choice(), usage=None) == read(choice(), usage={})

    def test_an_empty_prompt_is_told_apart_from_an_untold_one(self):
        assert read(choice(prompt_token_ids=[])).prompt_token_ids == ()
        assert read(choice(prompt_token_ids=None)).prompt_token_ids is None


class TestTokens:
    def test_no_ids_and_no_logprobs_is_no_tokens(self):
        assert read(choice()).completions[0].tokens is None

    def test_the_logprobs_strings_stand_in_for_missing_ids(self):
        completion = read(choice(token_ids=None, logprobs={"tokens": ["a", "a", "b"]})).completions[0]
        assert completion.tokens == ("a", "a", "b")
        assert [position.logprob for position in completion.logprobs] == [None] * 3

    def test_ids_may_be_written_into_the_logprobs_strings(self):
        data = {
            "tokens": ["token_id:7"],
            "token_logprobs": [-1],
            "top_logprobs": [{"token_id:8": -0.5, "token_id:7": -1}],
        }
        completion = read(choice(logprobs=data)).completions[0]
        assert completion.tokens == (7,)
        assert completion.logprobs[0].top == ((8, -0.5), (7, -1.0))

    def test_no_tokens_is_not_the_same_as_untold_tokens(self):
        assert read(choice(token_ids=[])).completions[0].tokens == ()

    @pytest.mark.parametrize("wrong", [-1, 1 << 31, 1 << 70, 1.0, 1.5, True, "1", None, [1], {}])
    @pytest.mark.parametrize(
        "place",
        [
            lambda wrong: choice(token_ids=[1, wrong]),
            lambda wrong: choice(token_ids=[1], prompt_token_ids=[wrong]),
            lambda wrong: choice(logprobs={"content": [{"id": wrong}]}),
        ],
    )
    def test_what_is_no_token_id_is_refused(self, place, wrong):
        with pytest.raises(ValueError, match=r"^Expected `int|neither token nor id"):
            read(place(wrong))

    @pytest.mark.parametrize("written", ["-1", "1.5", "x", "", "null", "9" * 11, "9" * 5000])
    def test_what_is_written_as_no_token_id_is_refused(self, written):
        with pytest.raises(ValueError, match="is no token id"):
            read(choice(logprobs={"tokens": [f"token_id:{written}"]}))


class TestLogprobs:
    @pytest.mark.parametrize("data", [None, {}, {"tokens": None}, {"content": None}])
    def test_there_may_be_none(self, data):
        assert logprobs_of(data) is None

    def test_there_may_be_some_without_positions(self):
        assert logprobs_of({"content": []}) == logprobs_of({"tokens": []}) == ()

    def test_null_says_nothing(self):
        data = {"tokens": ["a", "b"], "token_logprobs": [None, -1.0], "top_logprobs": [None, {"b": -1.0, "c": None}]}
        first, second = logprobs_of(data)
        assert (first.logprob, first.top) == (None, ())
        assert second.top == (("b", -1.0),)

    def test_the_stand_in_for_minus_infinity_is_no_likely_token(self):
        data = {
            "tokens": ["a"],
            "token_logprobs": [-9999.0],
            "top_logprobs": [{"a": -9999.0, "b": -9998.5, "c": -1e30}],
        }
        assert logprobs_of(data)[0].top == (("b", -9998.5),)

    def test_the_most_likely_comes_first(self):
        data = {"tokens": ["a"], "top_logprobs": [{"a": -3, "b": -1, "c": -2}]}
        assert logprobs_of(data)[0].top == (("b", -1.0), ("c", -2.0), ("a", -3.0))

    def test_tokens_of_one_text_stay_apart_by_their_ids(self):
        same = [{"id": 5, "token": "\ufffd", "logprob": -2.0}, {"id": 6, "token": "\ufffd", "logprob": -1.0}]
        (position,) = logprobs_of({"content": [{"id": 5, "token": "\ufffd", "logprob": -2.0, "top_logprobs": same}]})
        assert (position.token, position.top) == (5, ((6, -1.0), (5, -2.0)))

    def test_the_newer_form_without_ids_gives_strings(self):
        (position,) = logprobs_of(
            {"content": [{"token": "a", "logprob": -1, "top_logprobs": [{"token": "b", "logprob": 0}]}]}
        )
        assert position == TokenLogprobs(token="a", logprob=-1.0, top=(("b", 0.0),))

    @pytest.mark.parametrize(
        "data",
        [
            {"tokens": ["a"], "token_logprobs": [-1, -2]},
            {"tokens": ["a", "b"], "top_logprobs": [{}]},
            {"tokens": ["a"], "token_logprobs": ["-1"]},
            {"tokens": ["a"], "top_logprobs": [[-1]]},
            {"content": [{"logprob": -1}]},
            {"content": [{"token": "a", "top_logprobs": [{"logprob": 1}]}]},
            [],
            "logprobs",
        ],
    )
    def test_what_is_not_of_the_form_is_refused(self, data):
        with pytest.raises(ValueError, match=r"^Expected |logprobs"):
            logprobs_of(data)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({}, "choices"),
        ({"choices": None}, r"\$\.choices"),
        ({"choices": {}}, r"\$\.choices"),
        ({"choices": [None]}, r"\$\.choices\[0\]"),
        ({"choices": [{"index": None}]}, r"\$\.choices\[0\]\.index"),
        ({"choices": [{"text": ["a"]}]}, r"\$\.choices\[0\]\.text"),
        ({"choices": [{"finish_reason": {"type": "stop"}}]}, r"\$\.choices\[0\]\.finish_reason"),
        ({"choices": [], "usage": []}, r"\$\.usage"),
        ({"choices": [], "usage": {"prompt_tokens": -1}}, r"\$\.usage\.prompt_tokens"),
        ({"choices": [], "usage": {"completion_tokens": 1 << 64}}, r"\$\.usage\.completion_tokens"),
    ],
)
def test_the_place_of_what_is_wrong_is_named(answer, place):
    with pytest.raises(ValueError, match=place):
        read_response(answer)


values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "token_id:", "token_id:3", "token_id:-1", "token_id:" + "9" * 5000, "stop"]),
    st.just([]), st.just({}), st.just([None]), st.just([[]]), st.just({"a": None}),
)  # fmt: skip


def leaves(value, path=()):
    """Every place in a JSON value, itself included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*path, key))


ANSWERS = [
    recorded(name)
    for name in (
        "vllm_logprobs",
        "vllm_n3",
        "vllm_prompt_logprobs",
        "llamacpp_plain",
        "llamacpp_draft",
        "llamacpp_chat",
    )
]


@given(st.data())
def test_an_answer_with_anything_anywhere_is_refused_or_can_be_recorded(data):
    answer = copy.deepcopy(data.draw(st.sampled_from(ANSWERS)))
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from([path for path in leaves(answer) if path]))
        place = answer
        for key in path:
            place = place[key]
        place[last] = copy.deepcopy(data.draw(values))
    answer = json.loads(json.dumps(answer))
    try:
        response = read_response(answer)
    except ValueError:
        return
    assert from_json(to_json(response), Response) == response
