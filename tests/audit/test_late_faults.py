"""A fault that starts late in a completion is found by LAW3, which scores every token where it stands."""

from pathlib import Path

import pytest

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.model.finding import Verdict
from specaudit.model.suite import Suite

LONG = {"required": True, "tolerance": 0.2, "prompts": 1, "choices": 8}


@pytest.mark.parametrize(
    ("engine", "max_tokens", "verdict"),
    [
        ("reference", 160, Verdict.CONFORMS),
        ("mutant:late-kv", 160, Verdict.VIOLATES),
        ("mutant:late-kv", 64, Verdict.CONFORMS),  # who does not ask for long completions does not see it
    ],
)
def test_a_cache_that_is_read_wrongly_from_token_100_on(
    tmp_path: Path, engine: str, max_tokens: int, verdict: Verdict
) -> None:
    suite = Suite(name="late", title="", alpha=1e-3, checks={"LAW3": {**LONG, "max_tokens": max_tokens}})
    report = run_audit(Audit(suite=suite, out=tmp_path, engine=engine, world="transformer8"))
    (finding,) = report.findings
    assert finding.verdict is verdict, finding.summary
