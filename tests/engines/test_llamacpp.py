"""llama.cpp's `/completion`: what is sent, and what recorded answers (build 11549) say."""

import asyncio
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from specaudit.checks.paths import steps_of
from specaudit.counters.answers import read_answer
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.llamacpp import ADAPTER, FURTHER, SAMPLERS, CompletionForm, build
from specaudit.engines.llamacpp_answer import read_completions
from specaudit.engines.llamacpp_forcing import apart
from specaudit.engines.llamacpp_steps import steps_in
from specaudit.engines.manner import Manner
from specaudit.engines.registry import build as build_any
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import Sampling
from tests.engines.serving import FIXTURES, a_request, body_of, recorded, running


def manner(**options: Any) -> Manner:
    return Manner(model="m", form=CompletionForm(**options))


class TestWhatIsSent:
    def test_every_sampling_parameter_and_no_other(self) -> None:
        sent = body_of(manner(), prompt=(1, 2), n=3, max_tokens=5, logprobs=4)
        assert {name: sent[name] for name in FURTHER} == FURTHER
        assert {name: value for name, value in sent.items() if name not in (*FURTHER, "response_fields")} == {
            "prompt": (1, 2),
            "n_predict": 5,
            "n_cmpl": 3,
            "seed": 7,
            "stream": False,
            "timings_per_token": False,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "samplers": SAMPLERS,
            "logit_bias": (),
            "stop": (),
            "ignore_eos": True,
            "return_tokens": True,
            "n_probs": 4,
            "post_sampling_probs": False,
        }

    def test_a_recorded_servers_settings_leave_nothing_to_its_defaults(self) -> None:
        """Every setting that the server lists is sent, but for those that are no part of the law."""
        settings = set(recorded("llamacpp_completion")["generation_settings"])
        aside = {"stop", "n_keep", "n_discard", "grammar", "grammar_lazy", "grammar_triggers", "preserved_tokens"}
        aside |= {"chat_format", "reasoning_format", "reasoning_in_content", "generation_prompt", "max_tokens", "lora"}
        aside |= {"timings_per_token", "backend_sampling", "speculative.types", "stream"}
        unless_their_multiplier_is_0 = {"dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"}
        unless_mirostat_is_on = {"mirostat_tau", "mirostat_eta"}
        left = settings - set(body_of(manner())) - aside - unless_their_multiplier_is_0 - unless_mirostat_is_on
        assert left == set()

    @pytest.mark.parametrize(
        ("changes", "missing"),
        [
            ({"sampling": Sampling(bad_words=(("a",),))}, "bad_words"),
            ({"sampling": Sampling(allowed_token_ids=(1,))}, "allowed_token_ids"),
            ({"stop_token_ids": (2,)}, "stop_token_ids"),
            ({"score_from": 1}, "logprobs of a text, of a first token, or beside several choices"),
            ({"score_from": 0, "prompt": (1, 5)}, "logprobs of a text, of a first token, or beside several choices"),
            (
                {"score_from": 1, "prompt": (1, 5), "n": 2},
                "logprobs of a text, of a first token, or beside several choices",
            ),
        ],
    )
    def test_what_it_does_not_have_is_never_left_out_in_silence(self, changes: dict[str, Any], missing: str) -> None:
        said = manner().form.objection(a_request(**changes), manner())
        assert said == f"llama.cpp has no {missing}, which this request needs."

    def test_what_is_to_be_scored_is_generated_once_more(self) -> None:
        sent = body_of(manner(), prompt=(1, 5, 8, 17), score_from=2, max_tokens=1, logprobs=4)
        assert (sent["prompt"], sent["n_predict"], sent["n_probs"]) == ((1, 5), 3, 4)
        assert sent["grammar"] == "root ::= <[8]> <[17]> .*"

    def test_streams_tell_their_timings_token_by_token(self) -> None:
        sent = body_of(Manner(model="m", form=CompletionForm(), stream=True))
        assert sent["stream"] is sent["timings_per_token"] is True

    def test_adaptive_p_is_a_sampler_of_its_own(self) -> None:
        sent = body_of(manner(options={"adaptive_target": 0.3}))
        assert sent["samplers"] == (*SAMPLERS, "adaptive_p")
        assert sent["adaptive_target"] == 0.3
        assert not CompletionForm(options={"adaptive_target": 0.3}).tells_law
        assert CompletionForm(options={"adaptive_target": -1.0}).tells_law

    def test_a_conversation_has_the_same_parameters(self) -> None:
        chat = Manner(model="m", api="chat", form=ADAPTER.form("chat"))
        sent = body_of(chat)
        assert {name: sent[name] for name in FURTHER} == FURTHER
        assert (sent["repeat_penalty"], sent["top_k"], sent["samplers"]) == (1.0, 0, SAMPLERS)
        assert "repetition_penalty" not in sent


class TestOptions:
    def arm(self, engine: str) -> Arm:
        return Arm(role="subject", engine=engine, endpoint="http://127.0.0.1:1/v1")

    @pytest.mark.parametrize(
        ("engine", "said"),
        [
            ("llamacpp:adaptiv_target=1", "no parameter 'adaptiv_target' .* Did you mean 'adaptive_target'"),
            ("llamacpp:adaptive_target=x", "adaptive_target is a number, and 'x' is none"),
            ("llamacpp:adaptive_target", "adaptive_target is a number, and '' is none"),
        ],
    )
    def test_what_cannot_be_set_is_told(self, engine: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            build(self.arm(engine), Access())

    def test_an_address_is_needed(self) -> None:
        with pytest.raises(UsageError, match="'llamacpp' needs an address"):
            build(Arm(role="subject", engine="llamacpp"), Access())


def read(*answers: dict[str, Any], logprobs: bool = True) -> Any:
    return read_completions(answers, prompt=(1, 5), logprobs=logprobs)


class TestAnswers:
    def test_a_drafted_completion(self) -> None:
        found = read(recorded("llamacpp_completion"))
        (completion,) = found.completions
        assert completion.tokens == (8, 17, 3, 31, 5, 8)
        assert completion.finish_reason == "length"
        assert (found.prompt_token_ids, found.prompt_tokens) == ((1, 5), 4)
        assert (found.completion_tokens, found.cached_tokens) == (6, 3)
        assert completion.timings.decode == pytest.approx(0.002087)
        assert found.speculation == {"timings": {"predicted_n": 6, "draft_n": 3, "draft_n_accepted": 3}}

    def test_zeros_of_verification_steps_are_passed_on_as_they_are(self) -> None:
        (completion,) = read(recorded("llamacpp_completion")).completions
        assert completion.logprobs[0].logprob == pytest.approx(-4.0155, abs=1e-4)
        assert [len(position.top) for position in completion.logprobs] == [4, 0, 0, 0, 0, 4]
        assert [position.logprob for position in completion.logprobs[1:5]] == [0.0] * 4

    def test_what_it_says_of_speculation_is_read_by_the_counters(self) -> None:
        counts = read_answer(read(recorded("llamacpp_completion")).speculation)
        assert counts is not None
        assert (counts.engine, counts.completion_tokens, counts.draft_tokens, counts.accepted) == ("llamacpp", 6, 3, 3)

    def test_a_plain_server_says_nothing_of_speculation(self) -> None:
        assert read(recorded("llamacpp_completion_plain")).speculation is None

    def test_choices_come_as_a_list(self) -> None:
        answers = recorded("llamacpp_completion_n3")
        found = read(*reversed(answers), logprobs=False)
        assert [completion.tokens for completion in found.completions] == [tuple(one["tokens"]) for one in answers]
        assert found.completion_tokens == 18
        assert found.speculation is None, "each choice has its own"

    def test_a_stream_is_put_together(self) -> None:
        events = (FIXTURES / "llamacpp_completion_stream.sse").read_text(encoding="utf-8").split("\n\n")
        found = read(*(json.loads(event.removeprefix("data: ")) for event in events if event), logprobs=False)
        (completion,) = found.completions
        assert len(completion.tokens) == found.completion_tokens == 10
        assert found.speculation["timings"]["draft_n"] > 0

    def test_timings_of_every_token_tell_the_steps(self) -> None:
        events = (FIXTURES / "llamacpp_completion_timings.sse").read_text(encoding="utf-8").split("\n\n")
        found = read(*(json.loads(event.removeprefix("data: ")) for event in events if event), logprobs=False)
        assert found.completions[0].tokens == (20, 5, 27, 8, 17, 5, 27, 27)
        counts = read_answer(found.speculation)
        assert counts is not None
        assert (counts.drafted_per_step, counts.accepted_per_step) == ((3, 3, 0), (1, 3, 0))
        assert counts.steps == 2, "the last token has no draft"
        steps = steps_of(found, 0)
        assert steps is not None
        assert (steps.drafted, steps.accepted, steps.emitted) == ((0, 3, 3, 0), (0, 1, 3, 0), (1, 2, 4, 1))

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"tokens": [-1]}, "Expected `int` >= 0"),
            ({"stop_type": None}, "no stop_type"),
            ({"completion_probabilities": [{}]}, "missing required field `id`"),
        ],
    )
    def test_what_is_not_of_the_form_is_told(self, change: dict[str, Any], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            read({**recorded("llamacpp_completion"), **change})


class TestForcing:
    """Tokens that were generated to be scored, as a grammar of them gives them."""

    asked = a_request(prompt=(1, 5, 8, 17, 3, 31, 5), score_from=2, max_tokens=1, logprobs=4)

    def read(self, **changes: Any) -> Any:
        answer = {**recorded("llamacpp_completion"), **changes}
        return apart(read_completions([answer], prompt=(1, 5), logprobs=True), self.asked)

    def test_they_are_scores_and_no_completion(self) -> None:
        found = self.read()
        assert [score.token for score in found.scores] == [8, 17, 3, 31, 5]
        assert found.completions[0].tokens == (8,)
        assert [position.token for position in found.completions[0].logprobs] == [8]
        assert (found.prompt_token_ids, found.prompt_tokens, found.completion_tokens) == (self.asked.prompt, 9, 1)

    @pytest.mark.parametrize("changes", [{"tokens": [8, 17, 3, 30, 5, 8]}, {"completion_probabilities": []}])
    def test_other_tokens_or_none_with_logprobs_are_no_scores(self, changes: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="that were to be scored did not come back"):
            self.read(**changes)

    def test_without_anything_to_score_an_answer_stays_as_it_is(self) -> None:
        response = read(recorded("llamacpp_completion"))
        assert apart(response, a_request(prompt=(1, 5))) is response


DRAFTED = {"draft_n": 3, "draft_n_accepted": 1}


@pytest.mark.parametrize(
    ("pieces", "steps"),
    [
        ([(1, {})], ([], [])),
        ([(1, {}), (1, {}), (1, {})], ([0, 0], [0, 0])),
        ([(1, {}), (1, {"draft_n": 3, "draft_n_accepted": 0}), (1, {"draft_n": 3})], ([3, 0], [0, 0])),
        ([(1, {}), (1, DRAFTED), (1, {"draft_n": 2, "draft_n_accepted": 1})], None),
        ([(1, {}), (1, DRAFTED), (1, DRAFTED), (1, DRAFTED)], ([3, 0], [1, 0])),
        ([(1, {}), (0, {}), (1, DRAFTED), (1, DRAFTED), (0, DRAFTED)], ([3], [1])),
        ([(1, {}), (1, {"draft_n": 3, "draft_n_accepted": 3}), (1, {"draft_n": 3, "draft_n_accepted": 3})], ([3], [3])),
        ([(1, DRAFTED)], None),
        ([(1, {}), (2, DRAFTED)], None),
        ([(1, {}), (1, None)], None),
        ([(1, {}), (1, {"draft_n": 1, "draft_n_accepted": 2})], None),
        ([(1, {}), (1, {"draft_n": "3"})], None),
    ],
)
def test_steps_by_how_the_timings_of_a_stream_grow(pieces: list[Any], steps: Any) -> None:
    found = steps_in(pieces)
    assert found == (None if steps is None else {"drafted_per_step": steps[0], "accepted_per_step": steps[1]})


class Recorded:
    """A server that answers with recorded pages and keeps what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.tokenized: list[dict[str, Any]] = []

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", lambda request: JSONResponse(recorded("llamacpp_models"))),
                Route("/props", lambda request: JSONResponse(recorded("llamacpp_props"))),
                Route("/tokenize", self.tokenize, methods=["POST"]),
                Route("/completion", self.complete, methods=["POST"]),
            ]
        )

    async def tokenize(self, request: HttpRequest) -> Response:
        self.tokenized.append(json.loads(await request.body()))
        return JSONResponse({"tokens": [1, 5, 6]})

    async def complete(self, request: HttpRequest) -> Response:
        self.bodies.append(json.loads(await request.body()))
        return JSONResponse(recorded("llamacpp_completion"))


@pytest.mark.parametrize("engine", ["auto", "llamacpp"])
def test_a_server_is_recognised_and_asked_in_its_own_form(engine: str) -> None:
    server = Recorded()

    async def use(address: str) -> Any:
        asked = build_any(Arm(role="subject", engine=engine, endpoint=address), Access())
        try:
            capabilities = (await asked.probe()).capabilities
            server.tokenized.clear()
            return capabilities, [await asked.complete(a_request(prompt="new")) for _ in range(3)]
        finally:
            await asked.close()

    with running(server.app()) as address:
        capabilities, answers = asyncio.run(use(f"{address}/v1"))
    assert (capabilities.engine, capabilities.version) == ("llama.cpp", "b0-unknown")
    assert (capabilities.tokens, capabilities.vocabulary_size) == ("ids", 32)
    assert capabilities.logprobs == 4, "the first position tells how many; those of a verification step tell none"
    assert server.bodies[-1]["prompt"] == [1, 5, 6], "texts are tokenized by the server"
    assert server.tokenized == [{"content": "new", "add_special": True, "parse_special": True}], "and only once"
    assert answers[0].prompt_token_ids == (1, 5, 6)


def test_a_text_that_cannot_be_tokenized_is_a_sentence() -> None:
    app = Starlette(
        routes=[Route("/tokenize", lambda request: JSONResponse(recorded("llamacpp_error_500"), 500), methods=["POST"])]
    )

    async def use(address: str) -> None:
        engine = build(Arm(role="subject", engine="llamacpp", endpoint=address), Access())
        try:
            await engine.complete(a_request())
        finally:
            await engine.close()

    with running(app) as address, pytest.raises(EngineFailure) as caught:
        asyncio.run(use(address))
    assert caught.value.failure.message == f"{address}/tokenize answered 500: _Map_base::at."
