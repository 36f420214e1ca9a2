import msgspec
import pytest

from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.serve.answers import Style, answer, error, letters
from specaudit.serve.forms import ChatForm, CompletionForm

DEFAULT = Style()


def form(**fields):
    return msgspec.convert({"model": "m", **fields}, CompletionForm)


POSITIONS = (TokenLogprobs(token=1, logprob=-0.5, top=((1, -0.5), (3, -1.0))), TokenLogprobs(token=2, logprob=None))
RESPONSES = [
    Response(
        completions=(
            Completion(tokens=(1, 2), finish_reason="length", logprobs=POSITIONS),
            Completion(tokens=(0,), finish_reason="stop", logprobs=POSITIONS[:1]),
        ),
        prompt_token_ids=(3, 3, 3),
        prompt_tokens=3,
        completion_tokens=3,
    ),
    Response(
        completions=(Completion(tokens=(), finish_reason="stop"),),
        prompt_token_ids=(),
        prompt_tokens=0,
        completion_tokens=0,
    ),
]


def answered(style=DEFAULT, **fields):
    return answer(form(**{"logprobs": 2, **fields}), RESPONSES, identity="1", created=9, style=style)


def talked(tokens, style=DEFAULT, **fields):
    """The answer to a conversation, of one choice with these tokens."""
    positions = tuple(TokenLogprobs(token=token, logprob=-1.0, top=((token, -1.0),)) for token in tokens)
    response = Response(
        completions=(Completion(tokens=tokens, finish_reason="length", logprobs=positions),),
        prompt_token_ids=(3, 0),
        prompt_tokens=2,
        completion_tokens=len(tokens),
    )
    body = {"model": "m", "messages": [{"role": "user"}], **fields}
    return answer(msgspec.convert(body, ChatForm), [response], identity="1", created=9, style=style)


def test_the_choices_of_all_prompts_are_numbered_through():
    got = answered()
    assert {name: got[name] for name in ("id", "object", "created", "model")} == {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 9,
        "model": "m",
    }
    assert [(c["index"], c["text"], c["finish_reason"]) for c in got["choices"]] == [
        (0, "bc", "length"),
        (1, "a", "stop"),
        (2, "", "stop"),
    ]
    assert got["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}


def test_token_ids_are_told_when_they_are_asked_for():
    assert all("token_ids" not in choice for choice in answered()["choices"])
    ids = [(c["token_ids"], c["prompt_token_ids"]) for c in answered(return_token_ids=True)["choices"]]
    assert ids == [((1, 2), (3, 3, 3)), ((0,), (3, 3, 3)), ((), ())]


def test_logprobs_are_written_in_letters():
    first, _, last = answered()["choices"]
    assert first["logprobs"] == {
        "text_offset": [0, 1],
        "tokens": ["b", "c"],
        "token_logprobs": [-0.5, None],
        "top_logprobs": [{"b": -0.5, "d": -1.0}, {}],
    }
    assert last["logprobs"] is None


def test_logprobs_are_written_in_ids_when_they_are_asked_for():
    logprobs = answered(return_tokens_as_token_ids=True)["choices"][0]["logprobs"]
    assert logprobs["tokens"] == ["token_id:1", "token_id:2"]
    assert logprobs["top_logprobs"] == [{"token_id:1": -0.5, "token_id:3": -1.0}, {}]


def test_tokens_are_letters():
    assert letters([0, 1, 25]) == "abz"


def test_an_error_has_vllms_form():
    assert error("no", "NotFoundError", 404, param="model") == {
        "error": {"message": "no", "type": "NotFoundError", "param": "model", "code": 404}
    }


def test_token_ids_may_be_withheld():
    told = answered(Style(token_ids=False), return_token_ids=True, return_tokens_as_token_ids=True)
    assert all("token_ids" not in choice and "prompt_token_ids" not in choice for choice in told["choices"])
    assert told["choices"][0]["logprobs"]["tokens"] == ["b", "c"]
    assert "prompt_token_ids" not in talked((1,), Style(token_ids=False), return_token_ids=True)


def test_a_conversation_is_answered_by_a_message():
    told = talked((1, 2), return_token_ids=True, logprobs=True)
    assert {name: told[name] for name in ("id", "object", "prompt_token_ids")} == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "prompt_token_ids": (3, 0),
    }
    (choice,) = told["choices"]
    assert choice["message"] == {"role": "assistant", "content": "bc"}
    assert choice["token_ids"] == (1, 2)
    assert choice["logprobs"]["content"][0] == {
        "token": "b",
        "logprob": -1.0,
        "bytes": [98],
        "top_logprobs": [{"token": "b", "logprob": -1.0, "bytes": [98]}],
    }
    assert "text" not in choice
    assert "completion_tokens_details" not in told["usage"]


@pytest.mark.parametrize(
    ("tokens", "reasoning", "content", "counted"),
    [
        ((1, 2, 3, 0, 3), "bc", "ad", 3),
        ((3, 1), "", "b", 1),
        ((1, 3), "b", "", 2),
        ((1, 2), "bc", None, 2),
    ],
)
def test_reasoning_comes_before_the_content(tokens, reasoning, content, counted):
    told = talked(tokens, Style(reasoning_ends_with=3))
    message = told["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == (reasoning, content)
    assert told["usage"]["completion_tokens_details"] == {"reasoning_tokens": counted}
    assert told["usage"]["completion_tokens"] == len(tokens)


def test_completions_do_not_reason():
    assert answered(Style(reasoning_ends_with=3)) == answered()


def test_a_scored_prompt_is_told_by_ids():
    scored = Response(
        completions=(Completion(tokens=(1,), finish_reason="length", logprobs=POSITIONS[:1]),),
        scores=(TokenLogprobs(token=2, logprob=-3.0, top=((1, -0.5), (3, -1.0))),),
    )
    (choice,) = answer(form(prompt_logprobs=2), [scored], identity="1", created=9)["choices"]
    assert choice["prompt_logprobs"] == [
        None,
        {
            "1": {"logprob": -0.5, "decoded_token": "b"},
            "3": {"logprob": -1.0, "decoded_token": "d"},
            "2": {"logprob": -3.0, "decoded_token": "c"},
        },
    ]
    assert choice["logprobs"] is None
    silent = answer(form(prompt_logprobs=2), [scored], identity="1", created=9, style=Style(token_ids=False))
    assert "prompt_logprobs" not in silent["choices"][0]
