"""The adapter against a stand-in for the package; `tests/engines/run.sh openvino` runs the real one."""

import asyncio
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.openvino import OpenVINOEngine, build
from specaudit.model.completion import Response
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import Request, Sampling
from tests.engines import fake_networks

PROMPT = (3, 5)


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", fake_networks.openvino())
    monkeypatch.setitem(sys.modules, "openvino_genai", fake_networks.openvino_genai())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "openvino_model.xml").touch()
    return tmp_path


def request(**changes: object) -> Request:
    fields = {"prompt": PROMPT, "sampling": Sampling(top_k=4), "seed": 7, "max_tokens": 4}
    return Request(**(fields | changes))  # type: ignore[arg-type]


def answered(engine: OpenVINOEngine, asked: Request) -> Response:
    return asyncio.run(engine.complete(asked))


def settings(engine: OpenVINOEngine) -> list[dict[str, object]]:
    return [vars(handle.settings) for handle in engine._pipeline.handles]


def test_choices_are_drawn_with_seeds_of_their_own(folder):
    engine = OpenVINOEngine(folder)
    response = answered(engine, request(n=3))
    assert [one["rng_seed"] for one in settings(engine)] == [7, 8, 9]
    assert [completion.tokens for completion in response.completions] == [(6, 7, 0, 1)] * 3
    assert {completion.finish_reason for completion in response.completions} == {"length"}
    assert (response.prompt_token_ids, response.prompt_tokens, response.completion_tokens) == (PROMPT, 2, 12)


def test_every_parameter_is_sent(folder):
    engine = OpenVINOEngine(folder)
    sampling = Sampling(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1, repetition_penalty=1.2, presence_penalty=0.5)
    answered(engine, request(sampling=sampling, min_tokens=2))
    (sent,) = settings(engine)
    assert sent == {
        "max_new_tokens": 4,
        "min_new_tokens": 2,
        "ignore_eos": True,
        "rng_seed": 7,
        "do_sample": True,
        "temperature": 0.7,
        "top_k": 5,
        "top_p": 0.9,
        "min_p": 0.1,
        "repetition_penalty": 1.2,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.0,
        "logprobs": 1,
    }


def test_no_top_k_is_all_tokens(folder):
    engine = OpenVINOEngine(folder)
    answered(engine, request(sampling=Sampling()))
    assert settings(engine)[0]["top_k"] == fake_networks.VOCABULARY


def test_greedy_decoding_draws_nothing(folder):
    engine = OpenVINOEngine(folder)
    answered(engine, request(sampling=Sampling(temperature=0.0)))
    (sent,) = settings(engine)
    assert sent["do_sample"] is False
    assert "temperature" not in sent


def test_stop_tokens_end_a_completion(folder):
    response = answered(OpenVINOEngine(folder), request(stop_token_ids=(7,)))
    assert response.completions[0].tokens == (6, 7)
    assert response.completions[0].finish_reason == "stop"


def test_text_is_tokenized(folder):
    assert answered(OpenVINOEngine(folder), request(prompt="ab")).prompt_token_ids == (1, 2)


def test_plain_decoding_tells_the_targets_law(folder):
    response = answered(OpenVINOEngine(folder), request(logprobs=2, score_from=1))
    first = response.completions[0].logprobs[0]
    likely = 1 - np.log(np.exp(1) + fake_networks.VOCABULARY - 1)
    assert first.token == 6
    assert first.logprob == pytest.approx(likely)
    assert [token for token, _ in first.top] == [6, 0]
    (score,) = response.scores
    assert (score.token, score.logprob) == (5, pytest.approx(likely - 1))


def test_speculation_tells_what_the_pipeline_reports_and_no_law(folder):
    engine = OpenVINOEngine(folder, lookup=True, draft_tokens=4)
    response = answered(engine, request(logprobs=2))
    assert settings(engine)[0]["num_assistant_tokens"] == 4
    assert [(one.logprob, one.top) for one in response.completions[0].logprobs] == [(-0.5, ())] * 4


def test_what_came_after_each_step_is_told(folder):
    engine = OpenVINOEngine(folder, lookup=True)
    assert answered(engine, request(n=2, max_tokens=3)).speculation == {"emitted_per_step": [[2, 1], [2, 1]]}
    assert answered(OpenVINOEngine(folder), request()).speculation is None


def counted(folder: Path) -> Arm:
    return Arm(role="subject", engine="openvino:generate", target=str(folder), draft=str(folder), speculation="draft")


def test_generate_returns_what_is_counted_of_each_sequence(folder):
    response = answered(build(counted(folder), Access()), request(n=2, max_tokens=5))
    assert [completion.tokens for completion in response.completions] == [(6, 7, 0, 1, 2)] * 2
    assert {completion.finish_reason for completion in response.completions} == {"length"}
    counts = {"num_draft_tokens": 1, "num_accepted_tokens": 1, "num_rejected_tokens": 0, "num_generated_tokens": 5}
    assert response.speculation == {"emitted_per_step": [[1, 2, 2]] * 2, "extended_perf_metrics": [counts] * 2}


def test_generate_reveals_no_logprobs(folder):
    engine = build(counted(folder), Access())
    revealed = asyncio.run(engine.probe()).capabilities
    assert (revealed.counts_in_answers, revealed.logprobs, revealed.scores_prompts) == (True, 0, False)
    assert answered(engine, request(logprobs=1)).completions[0].logprobs is None


def test_a_last_step_that_is_not_counted_contradicts_what_was_emitted(folder, tmp_path):
    """As OpenVINO GenAI 2026.4.1 counts: after 31 tokens the last step has accepted a draft."""
    (tmp_path / "odd.toml").write_text('name = "odd"\ntitle = "odd"\n[checks.CTR2]\nmax_tokens = 31\n')
    report = run_audit(
        Audit(
            suite=load_suite(str(tmp_path / "odd.toml")),
            engine="openvino:generate",
            target=str(folder),
            draft=str(folder),
            speculation="draft",
            select=("CTR2",),
            out=tmp_path / "out",
        )
    )
    (finding,) = report.findings
    assert finding.verdict == "violates"
    assert "(accepted-uncounted)" in finding.summary


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"engine": "openvino:other"}, "no variant 'other'"), ({"draft": None, "speculation": "lookup"}, "draft model")],
)
def test_a_variant_that_cannot_be_is_refused(folder, changes, said):
    with pytest.raises(UsageError, match=said):
        build(msgspec.structs.replace(counted(folder), **changes), Access())


def test_requests_of_one_moment_run_in_one_batch(folder):
    engine = OpenVINOEngine(folder)

    async def both() -> list[Response]:
        return await asyncio.gather(engine.complete(request()), engine.complete(request(max_tokens=2)))

    long, short = asyncio.run(both())
    assert (long.completion_tokens, short.completion_tokens) == (4, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": ()}, "at least one"),
        ({"prompt": (99,)}, "tokens below 8"),
        ({"sampling": Sampling(logit_bias=((1, 1.0),))}, "no logit_bias"),
        ({"stop": ("a",)}, "no stop"),
        ({"sampling": Sampling(grammar="a*")}, "no grammar"),
        ({"sampling": Sampling(top_p=0.123)}, "Check 'top_p' failed"),
    ],
)
def test_what_it_does_not_take_is_a_refusal(folder, changes, said):
    with pytest.raises(EngineFailure, match=said) as caught:
        answered(OpenVINOEngine(folder), request(**changes))
    assert not caught.value.failure.lost


def test_a_probe_says_what_it_reveals(folder):
    plain = asyncio.run(OpenVINOEngine(folder).probe())
    drafting = asyncio.run(OpenVINOEngine(folder, draft=folder).probe())
    assert plain.exchanges == ("openvino-genai 2026.4.1",)
    assert (plain.capabilities.logprobs, plain.capabilities.scores_prompts, plain.capabilities.draft_tokens) == (
        8,
        True,
        0,
    )
    assert (drafting.capabilities.scores_prompts, drafting.capabilities.draft_tokens) == (False, 3)


@pytest.mark.parametrize(
    ("speculation", "draft", "expected"), [("draft", True, "draft_model"), ("lookup", False, "prompt_lookup")]
)
def test_an_arm_says_where_drafts_come_from(folder, speculation, draft, expected):
    arm = Arm(
        role="subject",
        engine="openvino",
        target=str(folder),
        draft=str(folder) if draft else None,
        speculation=speculation,
    )
    assert expected in build(arm, Access())._pipeline.properties


def test_what_cannot_be_loaded_is_an_error_for_the_user(folder, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="needs the folder"):
        build(Arm(role="subject", engine="openvino"), Access())
    with pytest.raises(UsageError, match=r"no openvino_model\.xml"):
        OpenVINOEngine(tmp_path / "none")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "openvino_model.xml").touch()
    with pytest.raises(UsageError, match="cannot read the model"):
        OpenVINOEngine(broken)
    monkeypatch.setitem(sys.modules, "openvino_genai", None)
    with pytest.raises(UsageError, match="not installed"):
        OpenVINOEngine(folder)


@pytest.mark.parametrize(("speculation", "verdict"), [("lookup", "conforms"), ("none", "inconclusive")])
def test_steps_that_emit_several_tokens_show_that_drafts_were_verified(folder, tmp_path, speculation, verdict):
    report = run_audit(
        Audit(
            suite=load_suite("quick"),
            engine="openvino",
            target=str(folder),
            speculation=speculation,
            select=("GRD1",),
            out=tmp_path / "out",
        )
    )
    (found,) = report.findings
    assert found.verdict == verdict, found.summary
    # Of 32 tokens the first is the prefill's, and 15 steps of two follow it.
    assert found.coverage == {"drafted steps": 64 * 15 if speculation == "lookup" else None}
