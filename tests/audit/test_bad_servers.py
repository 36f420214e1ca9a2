"""The LAW checks over HTTP against servers that spoil answers: each is recognised, and said in a finding.

What did not come is lost: it widens every bound, and no check takes it for a deviation.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from starlette.responses import JSONResponse, Response

from specaudit.audit.run import Audit, run_audit
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import EXIT_COULD_NOT_TEST, EXIT_INTERNAL, Report
from specaudit.model.suite import Suite
from specaudit.mutants import registry
from specaudit.render.terminal import render_terminal
from tests.audit.bad_servers import BadServers, Spoil, Told, honest
from tests.engines.serving import running

SUITE = Suite(
    name="bad",
    title="",
    alpha=1e-2,
    concurrency=8,
    checks={
        "LAW4": {"tolerance": 0.5, "prompts": 1, "requests": 16, "max_tokens": 12},
        "LAW1": {
            "tolerance": 0.5,
            "word_length": 2,
            "choices": 8,
            "pilot": 100,
            "max_completions": 240,
            "max_contexts": 0,
        },
        "LAW3": {"tolerance": 0.4, "prompts": 1, "max_tokens": 8, "choices": 4, "least_completions": 8},
    },
)

PROBED = 30
"""Requests behind which a server turns bad that was good while it was probed."""


@pytest.fixture(scope="module")
def servers() -> Iterator[BadServers]:
    """Makes servers that spoil answers."""
    made = BadServers()
    with running(made) as address:
        made.address = address
        yield made


def decoder(draft_tokens: int = 3, *, mutant: str = "") -> ReferenceEngine:
    """The embedded decoder, or one with a fault."""
    build = registry.get(mutant).build if mutant else SpeculativeDecoder
    return ReferenceEngine(build(MARKOV4, draft_tokens=draft_tokens))


def audited(servers: BadServers, out: Path, subject: str, reference: str = "", suite: Suite = SUITE) -> Report:
    """Audit a server, by default against an honest one that decodes plainly."""
    plain = reference or servers.add(honest, decoder(0))
    report = run_audit(
        Audit(suite=suite, out=out, endpoint=f"{subject}/v1", reference=f"{plain}/v1", metrics=f"{subject}/metrics")
    )
    assert report.exit_code != EXIT_INTERNAL
    return report


def of(report: Report, check: str) -> Finding:
    """The finding of a check."""
    return next(finding for finding in report.findings if finding.check == check)


def notes(report: Report, check: str) -> str:
    """All notes of a check."""
    return " ".join(of(report, check).notes)


def told(report: Report) -> str:
    """What the terminal tells, in one line."""
    return " ".join(render_terminal(report, folder="out", width=400).split())


def refused(message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "BadRequestError", "code": 400}}, 400)


def four_at_most(number: int, asked: Told, told: Told) -> Told:
    return {**told, "choices": told["choices"][:4]}


def one_too_few(number: int, asked: Told, told: Told) -> Told:
    few = asked.get("n", 1) > 1 and number > PROBED and number % 3 == 0
    return {**told, "choices": told["choices"][few:]}


def backwards(number: int, asked: Told, told: Told) -> Told:
    return {**told, "choices": told["choices"][::-1]}


def sometimes_without_ids(number: int, asked: Told, told: Told) -> Told:
    """One in four answers comes from a server that knows no token ids."""
    if number < PROBED or number % 4:
        return told

    def bare(choice: Told) -> Told:
        kept = {key: value for key, value in choice.items() if not key.endswith("token_ids")}
        logprobs = kept["logprobs"]
        if logprobs is not None:
            kept["logprobs"] = {**logprobs, "tokens": list(kept["text"])}
        return kept

    return {**told, "choices": list(map(bare, told["choices"]))}


def null_logprobs(number: int, asked: Told, told: Told) -> Told:
    if number < PROBED or number % 4:
        return told
    return {
        **told,
        "choices": [{**choice, "logprobs": None, "prompt_logprobs": None} for choice in told["choices"]],
    }


def dropping(number: int, asked: Told, told: Told) -> Told | Response:
    """One in ten answers gets lost on its way, once it was generated."""
    return Response("upstream went away", 504) if number > PROBED and number % 10 == 0 else told


def refusing(number: int, asked: Told, told: Told) -> Told | Response:
    return refused("top_k is not supported here") if number > PROBED and asked.get("top_k", -1) > 0 else told


def named(number: int, asked: Told, told: Told) -> Told:
    return {**told, "model": told["model"] if number % 2 else "markov4-turbo"}


def both(first: Spoil, second: Spoil) -> Spoil:
    """Spoil an answer twice."""

    def spoil(number: int, asked: Told, told: Told) -> Told | Response:
        made = first(number, asked, told)
        return made if isinstance(made, Response) else second(number, asked, made)

    return spoil


def not_accused(report: Report) -> None:
    """No check took what was spoilt for a deviation."""
    assert not [finding.check for finding in report.findings if finding.verdict is Verdict.VIOLATES]


def test_choices_that_are_capped_in_silence_and_reordered_are_asked_for_in_more_requests(servers, tmp_path):
    report = audited(servers, tmp_path, servers.add(both(four_at_most, backwards), decoder()))
    not_accused(report)
    assert of(report, "LAW4").verdict is Verdict.CONFORMS
    assert of(report, "LAW1").notes[0].startswith("the subject gives at most 4 choices in a request, where 8 were")


def test_choices_and_logprobs_that_do_not_come_are_counted_and_told_with_who_answers(servers, tmp_path):
    plain = servers.add(null_logprobs, decoder(0))
    report = audited(servers, tmp_path, servers.add(both(one_too_few, named), decoder()), plain)
    not_accused(report)
    assert re.search(r"answers of the subject held fewer choices than asked for: \d+ of", notes(report, "LAW1"))
    assert "the reference reported no logprobs for" in notes(report, "LAW3")
    for check in SUITE.checks:
        assert "name 2 models or versions (markov4-turbo, the one asked for)" in notes(report, check)


def test_tokens_that_come_as_texts_and_requests_that_are_dropped_are_lost(servers, tmp_path):
    plain = servers.add(dropping, decoder(0))
    report = audited(servers, tmp_path, servers.add(sometimes_without_ids, decoder()), plain)
    not_accused(report)
    assert of(report, "LAW1").verdict is Verdict.INCONCLUSIVE
    assert "came without their tokens, and are counted as lost" in notes(report, "LAW1")
    assert re.search(r"requests to the reference never gave an answer \(status 504\), and count as lost", told(report))


def test_a_parameter_that_is_refused_in_the_end_ends_the_audit_in_a_sentence(servers, tmp_path):
    report = audited(servers, tmp_path, servers.add(refusing, decoder()))
    not_accused(report)
    assert report.exit_code == EXIT_COULD_NOT_TEST
    assert "answered 400: top_k is not supported here" in report.stopped


def test_a_wrong_decoder_behind_every_other_answer_is_caught(servers, tmp_path):
    longer = {"tolerance": 0.2, "word_length": 2, "pilot": 100, "max_contexts": 0}
    suite = msgspec.structs.replace(SUITE, checks={"LAW1": longer})
    mixed = servers.add(honest, decoder(), decoder(mutant="accept-raw-p"))
    report = audited(servers, tmp_path, mixed, suite=suite)
    assert of(report, "LAW1").verdict is Verdict.VIOLATES
