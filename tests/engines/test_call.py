import asyncio

import pytest
from starlette.responses import JSONResponse

from specaudit.engines.call import call
from specaudit.engines.http import HttpClient
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.manner import Manner
from specaudit.engines.openai_form import OPTIONAL
from specaudit.model.request import GREEDY, Sampling
from tests.engines.serving import a_request, body_of, complete, completion, failure, text


def body(manner=None, **changes):
    return body_of(manner or Manner(model="toy"), **changes)


def test_every_sampling_parameter_is_sent():
    assert body(prompt=(1, 2), n=3, max_tokens=5) == {
        "model": "toy",
        "prompt": (1, 2),
        "max_tokens": 5,
        "n": 3,
        "seed": 7,
        "stream": False,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
        "ignore_eos": True,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
    }


def test_what_is_asked_for_is_sent():
    sent = body(
        sampling=Sampling(temperature=0.7, top_k=4, top_p=0.9), stop_token_ids=(3,), ignore_eos=False, logprobs=0
    )
    assert (sent["temperature"], sent["top_k"], sent["top_p"]) == (0.7, 4, 0.9)
    assert (sent["stop_token_ids"], sent["ignore_eos"], sent["logprobs"]) == ((3,), False, 0)
    assert not {"stop", "min_tokens"} & set(sent)
    assert body(sampling=GREEDY)["temperature"] == 0.0


def test_every_filter_goes_by_the_name_that_vllm_gives_it():
    sampling = Sampling(
        min_p=0.1,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=-0.4,
        logit_bias=((3, 1.5), (0, -100.0)),
        bad_words=(("a", "b"), ("c",)),
        allowed_token_ids=(0, 3),
    )
    neutral = body()
    sent = {name: value for name, value in body(sampling=sampling).items() if value != neutral.get(name)}
    assert sent == {
        "min_p": 0.1,
        "repetition_penalty": 1.2,
        "presence_penalty": 0.3,
        "frequency_penalty": -0.4,
        "logit_bias": {"3": 1.5, "0": -100.0},
        "bad_words": ["ab", "c"],
        "allowed_token_ids": (0, 3),
    }


@pytest.mark.parametrize(
    ("sampling", "wrong"),
    [
        (Sampling(min_p=0.1, top_k=2), " refuses top_k, min_p, which this request needs."),
        (Sampling(bad_words=((1,),)), "Bad words go to a server as text, and this request gives them as token ids."),
    ],
)
def test_another_law_is_never_asked_for_in_place_of_one_that_cannot_be(odd, sampling, wrong):
    server = odd()
    client = HttpClient(server.address, Access())
    manner = Manner(model="toy", refused=("top_k", "min_p"))
    with pytest.raises(EngineFailure) as caught:
        asyncio.run(call(client, manner, a_request(sampling=sampling)))
    lost = caught.value.failure
    assert lost.message.endswith(wrong)
    assert (lost.status, lost.lost) == (400, False)
    assert server.bodies == []


def test_refused_fields_are_not_sent():
    assert not body(Manner(model="toy", refused=OPTIONAL)).keys() & set(OPTIONAL)


def test_logprobs_are_always_asked_for_where_tokens_need_them():
    manner = Manner(model="toy", tokens_need_logprobs=True)
    assert body(manner)["logprobs"] == 1
    assert body(manner, logprobs=5)["logprobs"] == 5


def test_what_is_sent_arrives(odd):
    server = odd()
    assert complete(server.address, a_request(prompt=(0, 1), max_tokens=3)).completions[0].tokens == (1, 2, 3)
    assert server.bodies == [{**body(max_tokens=3), "prompt": [0, 1]}]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ('{"choices": null}', "Expected `array`, got `null` - at `$.choices`"),
        ('{"choices": [{"token_ids": [-5]}]}', "Expected `int` >= 0 - at `$.choices[0].token_ids[0]`"),
        (
            '{"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [1, 2]}}]}',
            "the lists of its logprobs differ",
        ),
        ("{}", "Object missing required field `choices`"),
    ],
)
def test_an_answer_that_cannot_be_read_is_lost(odd, answer, wrong):
    address = odd(completions=text(answer)).address
    lost = failure(address)
    assert lost.message.startswith(f"{address} answered with completions that cannot be read: {wrong}")
    assert (lost.reason, lost.status, lost.lost) == ("protocol", None, True)


def test_fewer_and_more_choices_than_asked_for_are_kept(odd):
    def some(count):
        return lambda body: JSONResponse(completion({**body, "n": count}))

    assert len(complete(odd(completions=some(2)).address, a_request(n=3)).completions) == 2
    assert len(complete(odd(completions=some(4)).address, a_request(n=3)).completions) == 4
    assert complete(odd(completions=some(0)).address, a_request(n=3)).completions == ()
