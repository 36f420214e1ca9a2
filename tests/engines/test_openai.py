import asyncio

import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.interface import Access
from specaudit.engines.manner import Manner
from specaudit.engines.openai import build
from specaudit.engines.reference import ReferenceEngine
from specaudit.engines.server import ServerEngine
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import GREEDY, Sampling
from specaudit.serve.app import make_app
from tests.engines.serving import a_request, complete, failure, not_tested, probe, running


def decoder(draft_tokens=3):
    return ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=draft_tokens))


@pytest.fixture(scope="module")
def address():
    with running(make_app(decoder())) as base:
        yield f"{base}/v1"


def in_process(request):
    return asyncio.run(decoder().complete(request))


def test_a_served_decoder_reveals_what_it_is(address):
    capabilities = probe(address).capabilities
    assert (capabilities.model, capabilities.vocabulary_size) == ("markov4", 4)
    assert capabilities.tokens == "ids"
    assert capabilities.token_prompts
    assert (capabilities.max_choices, capabilities.logprobs, capabilities.logprobs_mode) == (64, 4, "raw")
    assert capabilities.refused == ()


@pytest.mark.parametrize(
    "request_",
    [
        a_request(prompt=(0, 1, 2), n=3, max_tokens=9),
        a_request(prompt=(), max_tokens=4),
        a_request(prompt=(3,), sampling=Sampling(temperature=0.6, top_k=3, top_p=0.9), n=20, max_tokens=6),
        a_request(prompt=(1,), sampling=GREEDY, max_tokens=7),
        a_request(prompt=(2,), max_tokens=50, stop_token_ids=(0,)),
        a_request(prompt=(2,), max_tokens=5, logprobs=2),
        a_request(prompt=(2, 1, 3), max_tokens=1, logprobs=4, score_from=1),
    ],
)
def test_over_http_comes_what_comes_in_process(address, request_):
    there, here = complete_as_markov4(address, request_), in_process(request_)
    assert [c.tokens for c in there.completions] == [c.tokens for c in here.completions]
    assert [c.finish_reason for c in there.completions] == [c.finish_reason for c in here.completions]
    assert [c.logprobs for c in there.completions] == [c.logprobs for c in here.completions]
    assert (there.prompt_token_ids, there.prompt_tokens) == (here.prompt_token_ids, here.prompt_tokens)
    assert there.completion_tokens == here.completion_tokens
    assert there.scores == here.scores


def complete_as_markov4(address, request):
    async def use():
        engine = ServerEngine(address, manner=Manner(model="markov4"), access=Access())
        answer = await engine.complete(request)
        await engine.close()
        return answer

    return asyncio.run(use())


def test_text_comes_beside_the_tokens(address):
    (completion,) = complete_as_markov4(address, a_request(max_tokens=4)).completions
    assert completion.text == "".join("abcd"[token] for token in completion.tokens)


def test_a_wrong_model_is_refused(address):
    refused = failure(address)
    assert (refused.status, refused.lost) == (404, False)
    assert refused.message.endswith("The model `toy` does not exist. Valid aliases: markov4.")
    assert "it serves: markov4" in not_tested(address, model="toy").message


def test_an_address_without_v1_is_told(address):
    error = not_tested(address.removesuffix("/v1"))
    assert "answered 404: Not Found" in error.message
    assert error.hint.startswith("Does the address end in /v1?")


def test_probing_again_finds_the_same(address):
    assert probe(address) == probe(address)


def test_a_servers_law_is_not_revealed():
    assert ServerEngine("http://127.0.0.1:1/v1", manner=Manner(model=None), access=Access()).law() is None


def test_an_arm_needs_an_address():
    with pytest.raises(UsageError, match="needs an address"):
        build(Arm(role="subject", engine="openai"), Access())
    with pytest.raises(CouldNotTest, match="'foo' is not"):
        build(Arm(role="subject", engine="openai", endpoint="foo"), Access())


def test_an_arms_model_is_asked_for(address):
    engine = build(Arm(role="subject", engine="openai", endpoint=address, model="markov4"), Access())

    async def use():
        answer = await engine.complete(a_request())
        await engine.close()
        return answer

    assert asyncio.run(use()) == complete_as_markov4(address, a_request())


def test_the_default_model_is_no_guess(address):
    assert probe(address, model="markov4").capabilities == probe(address).capabilities
    with pytest.raises(Exception, match="does not exist"):
        complete(address)
