"""LAW6: which law is followed, over HTTP; and both ways in which FP8 breaks exactness, in process."""

from contextlib import ExitStack

import pytest

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.model.finding import Verdict
from specaudit.model.suite import Suite
from specaudit.serve.app import make_app
from tests.checks.law5.serving import served
from tests.engines.serving import running

SMALL = {"tolerance": 0.15, "max_tokens": 16, "prompts": 1, "blocks": 3, "greedy_prompts": 16, "greedy_tokens": 8}
SUITE = Suite(name="fp8", title="", alpha=1e-2, concurrency=8, checks={"LAW6": SMALL})
WARMER = {"temperature": lambda sampling: sampling.temperature * 2.5}
"""Makes another target of the decoder: one whose law is flatter."""


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


@pytest.mark.parametrize("engine", ["control:fp8-target"])
def test_a_quantised_target_is_not_accused(tmp_path, engine):
    finding = run_audit(Audit(suite=SUITE, out=tmp_path, engine=engine)).findings[0]
    assert finding.verdict is not Verdict.VIOLATES, finding.summary
