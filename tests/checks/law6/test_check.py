"""LAW6: which law is followed, over HTTP; and both ways in which FP8 breaks exactness, in process."""

from contextlib import ExitStack

import msgspec

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.calibrate.drive import drive
from specaudit.checks.interface import budget_of
from specaudit.checks.law6.check import Precision
from specaudit.checks.law6.settings import PrecisionSettings
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm
from specaudit.model.suite import Suite
from specaudit.serve.app import make_app
from tests.checks.law5.serving import served
from tests.engines.serving import running
from tests.model.builders import plan

SMALL = {
    "tolerance": 0.15,
    "edges": 0.0,  # so few tokens exclude full precision by little: at another size of the sample it may stay open
    "max_tokens": 16,
    "prompts": 1,
    "blocks": 3,
    "greedy_prompts": 16,
    "greedy_tokens": 8,
}
SUITE = Suite(name="fp8", title="", alpha=1e-2, concurrency=8, checks={"LAW6": SMALL})
WARMER = {"temperature": lambda sampling: sampling.temperature * 2.5}
"""Makes another target of the decoder: one whose law is flatter."""
COLDER = {"temperature": lambda sampling: sampling.temperature * 0.2}


def audited(out, *engines, third=True):
    with ExitStack() as stack:
        subject, reference, full = (stack.enter_context(running(make_app(engine))) for engine in engines)
        return run_audit(
            Audit(
                suite=SUITE,
                out=out,
                endpoint=f"{subject}/v1",
                reference=f"{reference}/v1",
                full_precision=f"{full}/v1" if third else None,
                metrics=f"{subject}/metrics",
            )
        ).findings[0]


def test_a_quantised_target_is_followed_and_told_apart_from_that_of_full_precision(tmp_path):
    finding = audited(tmp_path, served(), served(draft_tokens=0), served("reference", draft_tokens=0, **WARMER))
    views = {view.name: view.verdict for view in finding.views}
    assert views["subject against the plain reference"] is not Verdict.VIOLATES
    assert finding.verdict is not Verdict.VIOLATES
    assert finding.exhibits[0].title == "Which law is followed"


def test_without_the_third_arm_there_is_nothing_to_attribute(tmp_path):
    finding = audited(tmp_path, served(), served(draft_tokens=0), served(draft_tokens=0), third=False)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "--arm full-precision=URL_OF_THE_PLAIN_SERVER" in finding.next_step


def test_a_scale_over_the_batch_is_excluded_and_told_by_temperature_0(tmp_path):
    report = run_audit(Audit(suite=SUITE, out=tmp_path, engine="mutant:fp8-batch-scale"))
    finding = report.findings[0]
    assert [arm.world for arm in report.arms] == ["transformer8", "transformer8-fp8", "transformer8"]
    assert finding.verdict is Verdict.VIOLATES
    assert "at temperature 0 it answers otherwise too" in finding.summary
    assert finding.next_step.endswith("--select LAW6 --seed 1")


def test_a_quantised_target_is_acquitted_and_said_to_be_another_law_than_that_of_full_precision(tmp_path):
    finding = run_audit(Audit(suite=SUITE, out=tmp_path, engine="control:fp8-target")).findings[0]
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.summary.startswith("The subject follows the plain reference's law within total variation 0.")
    assert "and not that of full precision" in finding.summary
    views = {view.name: view.verdict for view in finding.views}
    assert views["subject against the plain reference"] is Verdict.CONFORMS
    assert views["subject against full precision"] is Verdict.VIOLATES
    assert views["plain reference against full precision"] is not Verdict.CONFORMS  # so few tokens may leave it open


def test_without_logprobs_the_served_law_is_followed_by_draws_in_the_same_contexts():
    settings = msgspec.convert({**SMALL, "tolerance": 0.3, "choices": 8}, PrecisionSettings)
    arms = {
        "subject": served(),
        "reference": served(draft_tokens=0),
        "full-precision": served(draft_tokens=0, **COLDER),
    }
    hidden = {role: {"logprobs": 0, "logprobs_mode": "unknown", "scores_prompts": False} for role in arms}
    header = plan(
        "LAW6",
        alpha=1e-3,
        metrics="in process",
        concurrency=64,
        arms=tuple(Arm(role=role, engine="reference") for role in arms),
    )
    evidence = drive(Precision(), settings, header, arms, reveal=False, hidden=hidden)
    finding = Precision().judge(settings, evidence, budget_of(header, "LAW6"))
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert "and not that of full precision (bets showed it after" in finding.summary
    assert {view.law for view in finding.views} == {"sampled in context"}
