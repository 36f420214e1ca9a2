import msgspec
import pytest

from specaudit.serve.forms import ChatForm, CompletionForm
from specaudit.serve.switches import AS_VLLM, Refused, Switches

MESSAGES = [{"role": "user", "content": "a"}]


def admit(switches, **body):
    kind = ChatForm if "messages" in body else CompletionForm
    body = {"model": "m", **body}
    switches.admit(msgspec.convert(body, kind), body)


@pytest.mark.parametrize(
    ("switches", "body", "param"),
    [
        (Switches(stream_only=True), {}, "stream"),
        (Switches(stream_only=True), {"messages": MESSAGES, "stream": False}, "stream"),
        (Switches(logprobs=False), {"logprobs": 0}, "logprobs"),
        (Switches(logprobs=False), {"prompt_logprobs": 1}, "logprobs"),
        (Switches(logprobs=False), {"messages": MESSAGES, "logprobs": True}, "logprobs"),
        (Switches(token_ids=False), {"prompt": [1, 2]}, "prompt"),
        (Switches(token_ids=False), {"prompt": [[1, 2]]}, "prompt"),
        (Switches(fixed_temperature=0.8), {"temperature": 1.0}, "temperature"),
        (Switches(fixed_temperature=1.0), {"temperature": 0}, "temperature"),
        (Switches(reasoning=True), {"messages": MESSAGES, "max_tokens": 5}, "max_tokens"),
        (Switches(refuse=("seed", "top_k")), {"top_k": -1}, "top_k"),
        (Switches(refuse=("user",)), {"user": "unknown to the form"}, "user"),
    ],
)
def test_what_a_switch_forbids_is_refused(switches, body, param):
    with pytest.raises(Refused) as caught:
        admit(switches, **body)
    assert caught.value.param == param
    assert caught.value.message[-1] == "." or param in caught.value.message
    admit(AS_VLLM, **body)


@pytest.mark.parametrize(
    ("switches", "body"),
    [
        (Switches(stream_only=True), {"stream": True}),
        (Switches(logprobs=False), {"messages": MESSAGES, "logprobs": False, "top_logprobs": 5}),
        (Switches(token_ids=False), {"prompt": "text", "return_token_ids": True}),
        (Switches(token_ids=False), {"prompt": ["text", "text"]}),
        (Switches(fixed_temperature=0.8), {}),
        (Switches(fixed_temperature=0.8), {"temperature": 0.8}),
        (Switches(fixed_temperature=0.8, ignore_temperature=True), {"temperature": 0}),
        (Switches(reasoning=True), {"messages": MESSAGES, "max_completion_tokens": 5}),
        (Switches(reasoning=True), {"max_tokens": 5}),
        (Switches(refuse=("seed",)), {"seed": None}),
    ],
)
def test_what_it_does_not_forbid_passes(switches, body):
    admit(switches, **body)
