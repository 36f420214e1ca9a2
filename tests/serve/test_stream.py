import json

import pytest

from specaudit.engines.openai_stream import assembled
from specaudit.engines.sse import payloads
from specaudit.serve.answers import Style
from specaudit.serve.stream import events
from tests.serve.test_answers import answered, talked

ANSWERS = {
    "completions": answered(return_token_ids=True),
    "without ids": answered(),
    "chat": talked((1, 2, 0, 3, 1, 2, 3), return_token_ids=True),
    "reasoning": talked((1, 2, 0, 3, 1, 2, 3), Style(reasoning_ends_with=3), return_token_ids=True),
    "only reasoning": talked((1, 2, 0), Style(reasoning_ends_with=3)),
}


def sent(answer, *, include_usage=True):
    text = b"".join(events(answer, include_usage=include_usage)).decode()
    data = payloads(text.encode())
    assert data.pop() == "[DONE]"
    return [json.loads(event) for event in data]


@pytest.mark.parametrize("name", ANSWERS)
def test_the_pieces_make_up_the_whole(name):
    whole = json.loads(json.dumps(ANSWERS[name]))
    pieces = assembled(sent(ANSWERS[name]))
    assert pieces["usage"] == whole["usage"]
    assert pieces.get("prompt_token_ids") == whole.get("prompt_token_ids")
    for got, wanted in zip(pieces["choices"], whole["choices"], strict=True):
        message = wanted.pop("message", None)
        if message is not None:
            texts = {key: value or "" for key, value in message.items() if key != "role"}
            assert {key: got["message"].get(key, "") for key in texts} == texts
        assert {name: got[name] for name in wanted} == wanted


def test_a_chunk_is_not_a_token():
    (choice,) = ANSWERS["chat"]["choices"]
    lengths = [len(chunk["choices"][0].get("token_ids", ())) for chunk in sent(ANSWERS["chat"])[:-1]]
    assert sum(lengths) == len(choice["token_ids"])
    assert max(lengths) > 1


def test_choices_take_turns():
    indices = [choice["index"] for chunk in sent(ANSWERS["completions"]) for choice in chunk["choices"]]
    assert indices[:3] == [0, 1, 2]


def test_usage_comes_last_and_only_when_it_is_asked_for():
    *_, last = sent(ANSWERS["chat"])
    assert (last["choices"], last["usage"]) == ([], ANSWERS["chat"]["usage"])
    assert all("usage" not in chunk for chunk in sent(ANSWERS["chat"], include_usage=False))


@pytest.mark.parametrize(("name", "kind"), [("completions", "text_completion"), ("chat", "chat.completion.chunk")])
def test_chunks_have_their_own_kind(name, kind):
    assert {chunk["object"] for chunk in sent(ANSWERS[name])} == {kind}
