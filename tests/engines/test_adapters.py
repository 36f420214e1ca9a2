"""vLLM, SGLang, TGI and TensorRT-LLM: recognised, asked in their own forms, recorded or documented answers read."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from specaudit.counters.answers import read_answer
from specaudit.engines.http import Answered
from specaudit.engines.interface import Access, EngineFailure, NotOffered
from specaudit.engines.manner import Manner
from specaudit.engines.recognise import LOST, adapters
from specaudit.engines.registry import build
from specaudit.laws.orders import ORDERS
from specaudit.model.completion import Response as Told
from specaudit.model.plan import Api, Arm
from specaudit.model.request import GREEDY, Request, Sampling
from tests.engines.serving import a_request, body_of, recorded, running

PATHS = {
    "vllm": "/v1/completions",
    "sglang": "/generate",
    "llamacpp": "/completion",
    "tgi": "/generate",
    "tensorrt_llm": "/v1/completions",
}

PAGES: dict[str, dict[str, Any]] = {
    "vllm": {"/v1/models": recorded("vllm_models"), "/version": {"version": "0.32.0"}},
    "sglang": {"/v1/models": recorded("sglang_models"), "/server_info": recorded("sglang_server_info")},
    "llamacpp": {"/v1/models": recorded("llamacpp_models"), "/props": recorded("llamacpp_props")},
    "tgi": {"/v1/models": recorded("tgi_models"), "/info": recorded("tgi_info")},
    "tensorrt_llm": {"/v1/models": recorded("tensorrt_llm_models"), "/version": {"version": "1.2.0"}},
}

ANSWERS: dict[str, Any] = {
    "vllm": recorded("vllm_logprobs"),
    "sglang": recorded("sglang_generate"),
    "llamacpp": recorded("llamacpp_completion"),
    "tgi": recorded("tgi_generate"),
    "tensorrt_llm": recorded("tensorrt_llm_completion"),
}

ERRORS: dict[str, tuple[int, Any, str]] = {
    "vllm": (400, recorded("vllm_error_400"), "min_p"),
    "sglang": (400, recorded("sglang_error_400"), "top_p must be in (0, 1], got 0.0."),
    "llamacpp": (500, recorded("llamacpp_error_500"), "_Map_base::at"),
    "tgi": (422, recorded("tgi_error_422"), "Input validation error: `top_p` must be > 0.0 and < 1.0"),
    "tensorrt_llm": (400, recorded("tensorrt_llm_error_400"), "body.return_token_ids: Extra inputs are not permitted."),
}

VERSIONS = {"vllm": "0.32.0", "sglang": "0.5.23", "llamacpp": "b0-unknown", "tgi": "3.3.6", "tensorrt_llm": "1.2.0"}


@dataclass
class Playback:
    """A server that answers as one engine was recorded or documented to."""

    name: str
    status: int = 200
    answer: Any = None
    pages: Mapping[str, Any] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def app(self) -> Starlette:
        def page(content: Any) -> Any:
            return lambda request: JSONResponse(content)

        routes = [Route(path, page(content)) for path, content in (self.pages or PAGES[self.name]).items()]
        routes.append(Route(PATHS[self.name], self.reply, methods=["POST"]))
        if self.name == "llamacpp":
            routes.append(Route("/tokenize", lambda request: JSONResponse({"tokens": [1, 5]}), methods=["POST"]))
        return Starlette(routes=routes)

    async def reply(self, request: HttpRequest) -> Response:
        self.bodies.append(json.loads(await request.body()))
        return JSONResponse(ANSWERS[self.name] if self.answer is None else self.answer, self.status)


def probed(server: Playback, engine: str = "auto") -> Any:
    async def use(address: str) -> Any:
        asked = build(Arm(role="subject", engine=engine, endpoint=f"{address}/v1"), Access())
        try:
            return await asked.probe()
        finally:
            await asked.close()

    with running(server.app()) as address:
        return asyncio.run(use(address))


def completed(server: Playback, request: Request) -> Told:
    async def use(address: str) -> Told:
        asked = build(Arm(role="subject", engine=server.name, endpoint=f"{address}/v1", model="m"), Access())
        try:
            return await asked.complete(request)
        finally:
            await asked.close()

    with running(server.app()) as address:
        return asyncio.run(use(address))


@pytest.mark.parametrize("name", PATHS)
def test_each_engine_is_recognised_with_its_version(name: str) -> None:
    probe = probed(Playback(name))
    assert probe.capabilities.engine in ORDERS, "the order of its filters is known"
    assert probe.capabilities.version == VERSIONS[name]
    assert not any(LOST[:40] in line for line in probe.exchanges)


def test_an_unknown_engine_is_asked_as_any_and_what_is_lost_is_said() -> None:
    server = Playback("vllm", pages={"/v1/models": {"data": [{"id": "toy", "owned_by": "somebody"}]}})
    probe = probed(server)
    assert (probe.capabilities.engine, probe.capabilities.version) == ("openai", None)
    assert any(line.startswith("engine: no engine that is known here") for line in probe.exchanges)
    assert probe.capabilities.tokens == "ids", "it is probed all the same"


@pytest.mark.parametrize("name", PATHS)
def test_answers_are_read_as_token_ids_with_their_logprobs(name: str) -> None:
    told = completed(Playback(name), a_request(logprobs=2, max_tokens=3))
    (completion,) = told.completions
    assert completion.tokens
    assert all(isinstance(token, int) for token in completion.tokens)
    assert completion.finish_reason == "length"
    assert completion.logprobs is not None
    assert completion.logprobs[0].logprob is not None
    assert completion.logprobs[0].logprob < 0
    assert len(completion.logprobs[0].top) >= 2
    assert told.completion_tokens == len(completion.tokens)
    assert told.prompt_tokens


@pytest.mark.parametrize("name", PATHS)
def test_errors_are_sentences(name: str) -> None:
    status, body, said = ERRORS[name]
    with pytest.raises(EngineFailure) as caught:
        completed(Playback(name, status=status, answer=body), a_request())
    failure = caught.value.failure
    assert said in failure.message
    assert f"answered {status}: " in failure.message
    assert not set("{}[") & set(failure.message.replace("(0, 1]", "")), "nothing raw"
    assert failure.lost is (status >= 500)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("answer", [[], {}, {"choices": 5}, {"meta_info": 5}, {"generated_text": 5}, [1]])
def test_answers_of_another_form_are_a_sentence(name: str, answer: Any) -> None:
    with pytest.raises(EngineFailure) as caught:
        completed(Playback(name, answer=answer), a_request())
    assert caught.value.failure.reason == "protocol"
    assert caught.value.failure.message == " ".join(caught.value.failure.message.split())


class TestSglang:
    def body(self, **changes: Any) -> dict[str, Any]:
        form = next(one for one in adapters() if one.name == "sglang").form("completions")
        return body_of(Manner(model="m", form=form), **changes)

    def test_sampling_stands_in_an_object_of_its_own(self) -> None:
        body = self.body(prompt=(1, 2), sampling=Sampling(temperature=0.7, top_k=4), n=2, max_tokens=5, logprobs=3)
        assert (body["input_ids"], body["return_logprob"], body["top_logprobs_num"]) == ((1, 2), True, 3)
        assert body["sampling_params"] == {
            "temperature": 0.7,
            "top_p": 1.0,
            "top_k": 4,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "max_new_tokens": 5,
            "min_new_tokens": 0,
            "sampling_seed": 7,
            "n": 2,
            "ignore_eos": True,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": True,
            "no_stop_trim": False,
        }

    def test_the_prompt_is_scored_from_where_it_is_asked(self) -> None:
        told = completed(Playback("sglang"), a_request(prompt=(1, 2, 3, 4), logprobs=2, score_from=2))
        assert told.scores is not None
        assert [position.token for position in told.scores] == [4062, 14198]
        assert [len(position.top) for position in told.scores] == [2, 2]

    def test_what_it_says_of_speculation_is_read_by_the_counters(self) -> None:
        told = completed(Playback("sglang"), a_request())
        counts = read_answer(told.speculation or {})
        assert counts is not None
        assert (counts.engine, counts.steps, counts.accepted, counts.draft_tokens) == ("sglang", 2, 1, 6)

    def test_a_stream_is_read_from_its_last_event(self) -> None:
        whole = recorded("sglang_generate")
        first = {"text": " the", "output_ids": [279], "meta_info": {"finish_reason": None, "completion_tokens": 1}}
        form = next(one for one in adapters() if one.name == "sglang").form("completions")
        told = form.read(Answered(objects=(first, whole), streamed=True, cache=None), a_request())
        assert told.completions[0].tokens == (279, 4062, 14198)
        with pytest.raises(ValueError, match="did not come to its end"):
            form.read(Answered(objects=(first,), streamed=True, cache=None), a_request())
        partly = {**whole, "output_ids": [14198]}
        with pytest.raises(ValueError, match="do not add up"):
            form.read(Answered(objects=(first, partly), streamed=True, cache=None), a_request())


class TestTgi:
    def body(self, **changes: Any) -> dict[str, Any]:
        form = next(one for one in adapters() if one.name == "tgi").form("completions")
        return body_of(Manner(model="m", form=form), **changes)

    def test_what_is_neutral_and_refused_is_left_out(self) -> None:
        assert self.body(max_tokens=5) == {
            "inputs": "The",
            "parameters": {
                "temperature": 1.0,
                "do_sample": True,
                "repetition_penalty": 1.0,
                "frequency_penalty": 0.0,
                "max_new_tokens": 5,
                "stop": (),
                "seed": 7,
                "watermark": False,
                "return_full_text": False,
                "details": True,
                "decoder_input_details": True,
            },
        }

    def test_greedy_decoding_is_no_temperature(self) -> None:
        parameters = self.body(sampling=GREEDY)["parameters"]
        assert parameters["do_sample"] is False
        assert "temperature" not in parameters

    def test_filters_are_sent_where_they_filter(self) -> None:
        parameters = self.body(sampling=Sampling(top_k=4, top_p=0.9), logprobs=3)["parameters"]
        assert (parameters["top_k"], parameters["top_p"], parameters["top_n_tokens"]) == (4, 0.9, 3)

    @pytest.mark.parametrize(
        ("changes", "missing"),
        [
            ({"prompt": (1, 2)}, "prompts of token ids"),
            ({"n": 2}, "second choice"),
            ({"sampling": Sampling(min_p=0.1, logit_bias=((1, 2.0),))}, "min_p, logit_bias"),
        ],
    )
    def test_what_it_does_not_have_is_never_left_out_in_silence(self, changes: dict[str, Any], missing: str) -> None:
        with pytest.raises(NotOffered, match=f"TGI has no {missing}"):
            completed(Playback("tgi"), a_request(**changes))

    def test_the_prompts_own_tokens_are_told(self) -> None:
        told = completed(Playback("tgi"), a_request(score_from=1))
        assert told.prompt_token_ids == (1, 4321, 2009)
        assert [position.token for position in told.scores or ()] == [4321, 2009]

    @pytest.mark.parametrize("api", ["completions", "chat"])
    def test_no_penalty_is_asked_for_where_none_is_wanted(self, api: Api) -> None:
        """Its chat takes a presence penalty of 0 for a repetition penalty of 2."""
        form = next(one for one in adapters() if one.name == "tgi").form(api)
        assert "presence_penalty" not in json.dumps(body_of(Manner(model="m", form=form, api=api)))
        wanted = a_request(sampling=Sampling(presence_penalty=0.5))
        assert form.objection(wanted, Manner(model="m", form=form, api=api)).startswith(("TGI", "tgi"))


GRAMMARS: dict[tuple[str, Api], Any] = {
    ("vllm", "completions"): {"structured_outputs": {"regex": "[ab]*"}},
    ("vllm", "chat"): {"structured_outputs": {"regex": "[ab]*"}},
    ("sglang", "completions"): {"regex": "[ab]*"},
    ("sglang", "chat"): {"regex": "[ab]*"},
    ("llamacpp", "completions"): None,
    ("llamacpp", "chat"): None,
    ("tgi", "completions"): {"grammar": {"type": "regex", "value": "[ab]*"}},
    ("tgi", "chat"): {"response_format": {"type": "regex", "value": "[ab]*"}},
    ("tensorrt_llm", "completions"): {"response_format": {"type": "regex", "regex": "[ab]*"}},
    ("tensorrt_llm", "chat"): {"response_format": {"type": "regex", "regex": "[ab]*"}},
}
"""What a regular expression becomes; None where the engine has none."""


@pytest.mark.parametrize(("name", "api"), GRAMMARS)
def test_a_grammar_goes_by_the_engines_own_name_or_is_objected_to(name: str, api: Api) -> None:
    form = next(one for one in adapters() if one.name == name).form(api)
    manner = Manner(model="m", form=form, api=api)
    request = a_request(sampling=Sampling(grammar="[ab]*"))
    if (expected := GRAMMARS[name, api]) is None:
        assert form.objection(request, manner) == "llama.cpp has no grammar, which this request needs."
        return
    assert not form.objection(request, manner)
    body = manner.body(form.fields(request, manner))
    places = (body, body.get("sampling_params", {}), body.get("parameters", {}))
    assert any(expected.items() <= place.items() for place in places)
    assert "[ab]" not in json.dumps(body_of(manner))


@pytest.mark.parametrize("name", ["llamacpp", "tgi"])
@pytest.mark.parametrize("changes", [{"stop_token_ids": (2,)}, {"min_tokens": 3}])
def test_what_a_chat_would_ignore_in_silence_is_objected_to(name: str, changes: dict[str, Any]) -> None:
    form = next(one for one in adapters() if one.name == name).form("chat")
    manner = Manner(model="m", form=form, api="chat")
    assert next(iter(changes)) in form.objection(a_request(**changes), manner)


class TestTensorrtLlm:
    def test_only_what_it_knows_is_sent(self) -> None:
        form = next(one for one in adapters() if one.name == "tensorrt_llm").form("completions")
        body = body_of(Manner(model="m", form=form), prompt=(1, 2), logprobs=1)
        known = {
            "model",
            "prompt",
            "max_tokens",
            "seed",
            "stream",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "logprobs",
        }
        known |= {"repetition_penalty", "presence_penalty", "frequency_penalty", "ignore_eos", "top_p_min"}
        known |= {"use_beam_search", "min_tokens", "detokenize"}
        assert body.keys() == known, "extra fields are forbidden"
        assert (body["top_k"], body["detokenize"]) == (0, False)

    def test_prompts_cannot_be_scored(self) -> None:
        with pytest.raises(NotOffered, match="tensorrt-llm has no prompt_logprobs"):
            completed(Playback("tensorrt_llm"), a_request(score_from=1))


def test_vllm_is_told_its_own_parameters_too() -> None:
    form = next(one for one in adapters() if one.name == "vllm").form("completions")
    body = body_of(Manner(model="m", form=form))
    assert (body["min_tokens"], body["use_beam_search"], body["return_token_ids"]) == (0, False, True)
