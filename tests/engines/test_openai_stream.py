import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.engines.openai_answer import read_response
from specaudit.engines.openai_stream import assembled
from specaudit.engines.sse import payloads
from tests.engines.serving import FIXTURES, failure


def recorded_stream(name):
    """The chunks of a stream recorded from a running server."""
    text = (FIXTURES / f"{name}.sse").read_text(encoding="utf-8")
    return [json.loads(data) for data in payloads(text.encode()) if data != "[DONE]"]


def chunk(**choice):
    return {"id": "1", "choices": [{"index": 0, "finish_reason": None, **choice}]}


END = chunk(finish_reason="length", text="")


class TestRecordedStreams:
    def test_vllm_sends_several_tokens_in_a_chunk(self):
        chunks = recorded_stream("vllm_stream")
        response = read_response(assembled(chunks))
        (completion,) = response.completions
        assert completion.tokens == (350, 85, 83, 260, 270, 310, 275, 289)
        assert completion.text == " contr a cutiting"
        assert (completion.finish_reason, response.completion_tokens) == ("length", 8)
        assert response.prompt_token_ids == (474, 316, 387)
        assert max(len(choice["token_ids"]) for each in chunks for choice in each["choices"]) == 2

    def test_llamacpp_tells_nothing_of_the_tokens_of_a_verification_step(self):
        """Ten chunks with text, one with logprobs: its tokens are not known, and chunks do not stand in for them."""
        response = read_response(assembled(recorded_stream("llamacpp_stream")))
        (completion,) = response.completions
        assert (completion.tokens, completion.logprobs) == (None, None)
        assert completion.text == "leged in the same of the s"
        assert (response.prompt_tokens, response.completion_tokens, response.cached_tokens) == (3, 10, 2)

    def test_what_stands_beside_the_choices_is_kept(self):
        assert "speculative_decoding" in assembled(recorded_stream("vllm_stream"))["metrics"]


class TestPieces:
    def test_choices_are_told_apart(self):
        chunks = [
            {"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}]},
            {"choices": [{"index": 1, "text": "c", "finish_reason": "stop"}]},
            {"choices": [{"index": 0, "text": "", "finish_reason": "length"}]},
        ]
        assert [(c["index"], c["text"], c["finish_reason"]) for c in assembled(chunks)["choices"]] == [
            (0, "a", "length"),
            (1, "bc", "stop"),
        ]

    def test_deltas_make_up_a_message(self):
        chunks = [
            chunk(delta={"role": "assistant", "content": ""}),
            chunk(delta={"reasoning_content": "th"}),
            chunk(delta={"reasoning_content": "ink", "content": None}),
            chunk(delta={"content": "sa"}),
            chunk(delta={"content": "y"}, finish_reason="stop"),
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9}},
        ]
        response = read_response(assembled(chunks))
        (completion,) = response.completions
        assert (completion.reasoning, completion.text) == ("think", "say")
        assert completion.tokens is None
        assert (response.prompt_tokens, response.completion_tokens) == (3, 9)

    def test_a_prompts_ids_come_with_the_first_chunk(self):
        first = {**chunk(delta={"content": "a"}), "prompt_token_ids": [1, 2]}
        assert read_response(assembled([first, chunk(delta={}, finish_reason="stop")])).prompt_token_ids == (1, 2)

    @pytest.mark.parametrize(
        ("pieces", "tokens"),
        [
            ([{"text": "ab", "token_ids": [1, 2]}, {"text": "c", "token_ids": [3]}], (1, 2, 3)),
            ([{"text": "ab", "token_ids": [1, 2]}, {"text": "c"}], None),
            ([{"text": "ab", "token_ids": [1, 2]}, {"text": "c", "token_ids": []}], None),
            ([{"text": "", "token_ids": [1]}, {"text": "ä", "token_ids": [2]}], (1, 2)),
            ([{"text": ""}, {"text": "a", "token_ids": [2]}], (2,)),
            ([{"text": "", "token_ids": []}], ()),
            ([{"text": "a"}], None),
        ],
    )
    def test_ids_are_known_where_every_text_has_them(self, pieces, tokens):
        chunks = [*(chunk(**piece) for piece in pieces), END]
        assert read_response(assembled(chunks)).completions[0].tokens == tokens

    def test_logprobs_of_both_forms_are_put_together(self):
        listed = [{"tokens": [word], "token_logprobs": [-1.0], "top_logprobs": [{word: -1.0}]} for word in "ab"]
        content = [{"content": [{"token": word, "logprob": -1.0, "top_logprobs": []}]} for word in "ab"]
        for told in (listed, content):
            chunks = [*(chunk(text="x", logprobs=each) for each in told), END]
            (completion,) = read_response(assembled(chunks)).completions
            assert completion.tokens == ("a", "b")
            assert len(completion.logprobs) == 2

    def test_logprobs_that_are_missing_somewhere_are_no_tokens(self):
        told = {"content": [{"token": "a", "logprob": -1.0}]}
        chunks = [chunk(text="a", logprobs=told), chunk(text="b", logprobs={"content": []}), END]
        assert read_response(assembled(chunks)).completions[0].tokens is None


class TestBrokenStreams:
    @pytest.mark.parametrize(
        ("chunks", "said"),
        [
            ([], "the stream has no choices"),
            ([{"choices": []}, {"usage": {}}], "the stream has no choices"),
            ([chunk(text="a")], "the stream ended before its finish reason"),
            ([{"choices": [{"index": 0, "finish_reason": "stop"}, {"index": 1}]}], "ended before its finish reason"),
            ([{"choices": 5}], "the choices of a chunk are no objects"),
            ([{"choices": [5]}], "the choices of a chunk are no objects"),
            ([chunk(index="0")], "a choice's index is no number"),
        ],
    )
    def test_what_is_no_whole_stream_is_said(self, chunks, said):
        with pytest.raises(ValueError, match=said):
            assembled(chunks)

    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["text", "delta", "token_ids", "logprobs", "finish_reason", "prompt_token_ids"]),
                st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text()) | st.just({"tokens": 1}),
            )
        )
    )
    def test_anything_is_refused_or_put_together(self, choices):
        try:
            answer = assembled([{"choices": [{"index": 0, **choice}]} for choice in choices])
            read_response(answer)
        except ValueError:
            return


def streaming(text):
    from starlette.responses import Response

    return Response(text, headers={"content-type": "text/event-stream; charset=utf-8"})


class TestOverHttp:
    def test_an_error_within_a_stream_is_lost(self, odd):
        broken = 'data: {"choices": [{"index": 0, "text": "a"}]}\n\ndata: {"error": {"message": "out of memory"}}\n\n'
        address = odd(completions=streaming(broken)).address
        lost = failure(address)
        assert lost.message == f"{address}/completions broke off its stream: out of memory"
        assert (lost.reason, lost.lost) == ("protocol", True)

    def test_a_stream_that_ends_too_soon_is_lost(self, odd):
        lost = failure(odd(completions=streaming('data: {"choices": [{"index": 0, "text": "a"}]}\n\n')).address)
        assert lost.message.endswith("cannot be read: the stream ended before its finish reason.")
        assert lost.lost

    def test_an_event_that_is_no_json_is_lost(self, odd):
        assert failure(odd(completions=streaming("data: {\n\n")).address).lost
