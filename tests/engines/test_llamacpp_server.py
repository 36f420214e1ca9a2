"""Audits of llama.cpp itself, from its prebuilt wheel: what is lossless conforms, what is not is caught.

Few tokens each; `tests/engines/run.sh llamacpp` asks for more, at a tolerance of .03.
"""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from msgspec.structs import replace

from specaudit.audit.audit import Audit
from specaudit.audit.record import FILE_NAME, read_evidence
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.doctor.examine import MOST_REQUESTS, Asked, examine
from specaudit.engines.interface import Access
from specaudit.engines.llamacpp import build
from specaudit.model.completion import Response, TokenLogprobs
from specaudit.model.plan import Arm
from specaudit.model.report import Report
from specaudit.model.request import GREEDY, Request, Sampling
from specaudit.model.suite import Suite

pytest.importorskip("xllamacpp", reason="the prebuilt llama.cpp is for Linux on x86-64")

from tests.engines.llamacpp.fleet import Fleet

SAMPLE = b'"stage":"LAW1.sample.'
QUICK = load_suite(str(Path(__file__).parent / "suites" / "llamacpp-quick.toml"))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    servers = Fleet(tmp_path_factory.mktemp("llamacpp"))
    yield servers
    servers.stop()


def audit(
    fleet: Fleet,
    subject: str,
    out: Path,
    *checks: str,
    engine: str | None = None,
    suite: Suite = QUICK,
    stream: bool = False,
) -> Report:
    """Audit one way to decode against plain decoding."""
    return run_audit(
        Audit(
            suite=suite,
            stream=stream,
            out=out,
            endpoint=f"{fleet[subject]}/v1",
            reference=f"{fleet['plain']}/v1",
            metrics=None if subject == "plain-too" else f"{fleet[subject]}/metrics",
            engine=engine,
            select=checks,
        )
    )


def verdicts(report: Report) -> dict[str, str]:
    return {finding.check: str(finding.verdict) for finding in report.findings}


@pytest.mark.parametrize("subject", ["greedy", "probabilistic", "n-gram"])
def test_lossless_ways_to_draft_conform(fleet: Fleet, tmp_path: Path, subject: str) -> None:
    report = audit(fleet, subject, tmp_path, "GRD1", "LAW1")
    assert verdicts(report) == {"GRD1": "conforms", "LAW1": "conforms"}
    assert read_evidence(tmp_path).capabilities["subject"].engine == "llama.cpp"


def test_plain_decoding_deviates_from_plain_decoding_in_nothing_and_shows_no_verifier(
    fleet: Fleet, tmp_path: Path
) -> None:
    report = audit(fleet, "plain-too", tmp_path, "GRD1", "LAW1")
    assert verdicts(report) == {"GRD1": "inconclusive", "LAW1": "inconclusive"}
    effects = [finding.effect for finding in report.findings]
    assert all(effect is not None and effect.high < effect.tolerance for effect in effects)


def test_acceptance_by_chance_violates_in_under_2000_tokens(fleet: Fleet, tmp_path: Path) -> None:
    report = audit(fleet, "synth", tmp_path, "GRD1", "LAW1")
    assert verdicts(report) == {"GRD1": "violates", "LAW1": "violates"}
    assert report.tokens["subject"] < 2000


@pytest.mark.parametrize(("subject", "verdict"), [("probabilistic", "violates"), ("greedy", "conforms")])
def test_the_adaptive_sampler_is_not_what_sampled_drafts_are_verified_by(
    fleet: Fleet, tmp_path: Path, subject: str, verdict: str
) -> None:
    report = audit(fleet, subject, tmp_path, "LAW1", engine="llamacpp:adaptive_target=0.5")
    assert verdicts(report) == {"LAW1": verdict}


def test_logprobs_of_verification_steps_are_zeros(fleet: Fleet, tmp_path: Path) -> None:
    report = audit(fleet, "greedy", tmp_path, "LGP1")
    assert verdicts(report) == {"LGP1": "violates"}
    assert "They are zero logprobs on verification steps" in report.findings[0].summary


def test_drafts_are_made_and_judged_by_the_target(fleet: Fleet, tmp_path: Path) -> None:
    assert verdicts(audit(fleet, "greedy", tmp_path, "CTR5")) == {"CTR5": "conforms"}


def test_the_plain_server_scores_what_others_emitted_and_streams_tell_their_steps(fleet: Fleet, tmp_path: Path) -> None:
    settings = QUICK.checks | {"LAW3": {"required": True, "tolerance": 0.3, "max_tokens": 16, "choices": 1}}
    report = audit(fleet, "probabilistic", tmp_path, "LAW3", suite=replace(QUICK, checks=settings), stream=True)
    assert verdicts(report) == {"LAW3": "conforms"}
    evidence = read_evidence(tmp_path)
    assert [evidence.capabilities[role].scores_prompts for role in ("subject", "reference")] == [False, True]
    names = {view.name for view in report.findings[0].views}
    assert {"step position 1", "step position 3", "bonus row", "undrafted step"} <= names


def test_what_is_generated_and_scored_once_more_has_the_same_logprobs(fleet: Fleet) -> None:
    """Within what the suites of this folder take for rounding, alone and eight at a time."""

    async def use() -> list[tuple[Response, Response]]:
        engine = build(Arm(role="reference", engine="llamacpp", endpoint=f"{fleet['plain']}/v1"), Access())

        async def twice(seed: int) -> tuple[Response, Response]:
            first = Request(prompt=(1, 5, 6), sampling=Sampling(), seed=seed, max_tokens=16, logprobs=32)
            drawn = await engine.complete(first)
            tokens = cast("tuple[int, ...]", drawn.completions[0].tokens)
            scored = Request(
                prompt=(1, 5, 6, *tokens), sampling=GREEDY, seed=1, max_tokens=1, logprobs=32, score_from=3
            )
            return drawn, await engine.complete(scored)

        try:
            return [await twice(0), *await asyncio.gather(*(twice(seed) for seed in range(1, 9)))]
        finally:
            await engine.close()

    def law(position: TokenLogprobs) -> list[float]:
        return [logprob for _, logprob in sorted(position.top)]

    pairs = [
        (one, other)
        for drawn, scored in asyncio.run(use())
        for one, other in zip(drawn.completions[0].logprobs or (), scored.scores or (), strict=True)
    ]
    assert len(pairs) == 9 * 16
    assert [one.token for one, _ in pairs] == [other.token for _, other in pairs]
    assert max(abs(np.subtract(law(one), law(other))).max() for one, other in pairs) < 0.01


def test_a_draft_model_without_a_type_is_configured_but_not_speculating(fleet: Fleet, tmp_path: Path) -> None:
    report = audit(fleet, "draft-without-type", tmp_path, "CTR5")
    assert verdicts(report) == {"CTR5": "violates"}
    assert report.findings[0].summary.startswith("Speculation is off in silence: nothing was drafted")


def test_streams_lose_no_answer(fleet: Fleet) -> None:
    """The server closes a connection behind a stream without saying so, and the next request goes out all the same."""

    async def use() -> list[Response]:
        engine = build(Arm(role="subject", engine="llamacpp", endpoint=f"{fleet['greedy']}/v1", stream=True), Access())
        try:
            asked = Request(prompt=(1, 5, 6), sampling=GREEDY, seed=1, max_tokens=6)
            return [await engine.complete(asked) for _ in range(6)]
        finally:
            await engine.close()

    answers = asyncio.run(use())
    assert len({answer.completions[0].tokens for answer in answers}) == 1
    assert all(answer.received == 6 for answer in answers)


def test_an_engine_that_dies_in_mid_run(fleet: Fleet, tmp_path: Path) -> None:
    """Exit code 3, the evidence kept, and said when it died and after which request."""
    assert fleet["plain-too"]
    evidence = tmp_path / FILE_NAME

    def kill_in_time() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not evidence.exists() or evidence.read_bytes().count(SAMPLE) < 30):
            time.sleep(0.005)
        fleet.kill("plain-too")

    killer = threading.Thread(target=kill_in_time)
    killer.start()
    report = audit(fleet, "plain-too", tmp_path, "LAW1")
    killer.join()
    assert report.exit_code == 3
    said = r"The subject stopped answering at request \d+ of stage LAW1\.sample\.\d, at \S+: .*"
    assert re.match(
        said + r" Its last answer was to request \d+ of stage LAW1\.sample\.\d, at \S+", report.stopped or ""
    )
    (finding,) = report.findings
    assert re.match(r"Collecting ended after \d+ of the \d+ requests planned so far\. " + said, finding.summary)
    kept = read_evidence(tmp_path)
    assert sum(attempt.response is not None for attempt in kept.attempts()) >= 40
    assert not kept.sealed


@pytest.mark.parametrize(
    ("subject", "speculating", "logprobs"),
    [
        ("greedy", "yes", "zeros on verification steps"),
        ("draft-without-type", "configured, but not speculating", "all 32 positions"),
    ],
)
def test_the_doctor_sees_what_is_on_and_what_is_wrong(
    fleet: Fleet, subject: str, speculating: str, logprobs: str
) -> None:
    endpoint = fleet[subject]
    found = asyncio.run(examine(Asked(endpoint=f"{endpoint}/v1", metrics=f"{endpoint}/metrics")))
    items = {item.question: f"{item.state}: {item.answer}" for item in found.items}
    assert speculating in items["Is speculation really on?"]
    assert logprobs in items["Are logprobs right in long answers?"]
    assert items["Which engine is it?"].startswith("yes: llama.cpp")
    assert found.spent.requests < MOST_REQUESTS
    treated = {one.name: one.treatment for one in found.parameters}
    assert all(treated[name] == "honoured" for name in ("seed", "top_k", "top_p", "min_p", "logit_bias", "stop"))
    assert treated["bad_words"] == "not offered"
