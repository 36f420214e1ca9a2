"""Records are frozen, refuse unknown fields, and have one canonical JSON form."""

import hashlib

import msgspec
import pytest

from specaudit.model.record import digest, from_json, to_json
from specaudit.model.request import GREEDY, Request, Sampling

REQUEST = Request(prompt=(1, 2), sampling=Sampling(temperature=0.7, top_k=4), seed=3, n=2)


def test_the_json_form_is_read_back_unchanged():
    assert from_json(to_json(REQUEST), Request) == REQUEST


def test_the_json_form_is_canonical():
    assert to_json(REQUEST) == (
        b'{"prompt":[1,2],"sampling":{"temperature":0.7,"top_k":4,"top_p":1.0,"min_p":0.0,"repetition_penalty":1.0,'
        b'"presence_penalty":0.0,"frequency_penalty":0.0,"logit_bias":[],"bad_words":[],"allowed_token_ids":null,"grammar":null},'
        b'"seed":3,"n":2,"max_tokens":16,"stop_token_ids":[],"stop":[],"min_tokens":0,"draft_tokens":null,"ignore_eos":true,'
        b'"logprobs":null,"score_from":null}'
    )
    assert digest(REQUEST) == hashlib.sha256(to_json(REQUEST)).hexdigest()


def test_unknown_fields_are_refused():
    with pytest.raises(msgspec.ValidationError, match="temprature"):
        from_json(b'{"temprature": 1.0}', Sampling)


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        GREEDY.temperature = 1.0


def test_records_are_keyword_only():
    with pytest.raises(TypeError):
        Sampling(0.5)


@pytest.mark.parametrize("prompt", [(1, 2, 3), "text", ()])
def test_prompts_keep_their_form(prompt):
    request = msgspec.structs.replace(REQUEST, prompt=prompt)
    assert from_json(to_json(request), Request).prompt == prompt


@pytest.mark.parametrize(
    "wrong", [b'{"temperature":-1}', b'{"top_k":-1}', b'{"top_p":0}', b'{"top_p":1.5}', b'{"temperature":1e9}']
)
def test_sampling_has_ranges(wrong):
    with pytest.raises(msgspec.ValidationError):
        from_json(wrong, Sampling)
