"""CLM1 on an audit that asked nothing: a claim against memory and arithmetic."""

from typing import Any

import msgspec
import pytest

from specaudit.checks.clm1 import ClaimSettings, PhysicallyPossible
from specaudit.checks.interface import budget_of
from specaudit.claims.hardware import Device
from specaudit.claims.reading import load_claim
from specaudit.model.claim import Claim
from specaudit.model.entries import PlanEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.record import digest
from tests.model.builders import plan


def found(claim: Claim | None, **settings: Any) -> Finding:
    head = plan("CLM1")
    evidence = Evidence([PlanEntry(plan=head, digest=digest(head))])
    check = PhysicallyPossible()
    assert check.next_stage(head, ClaimSettings(), evidence) is None
    return check.judge(ClaimSettings(claim=claim, **settings), evidence, budget_of(head, "CLM1"))


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("host-table", Verdict.VIOLATES),
        ("nvidia-llama-70b", Verdict.CONFORMS),
        ("eagle3-headline", Verdict.INCONCLUSIVE),
        ("medusa-1", Verdict.INCONCLUSIVE),
    ],
)
def test_shipped_claims(name: str, verdict: Verdict) -> None:
    assert found(load_claim(name)).verdict is verdict


def test_the_division_is_the_witness() -> None:
    finding = found(load_claim("host-table"))
    assert "6.2 times the 272 that memory allows 4 sequences together" in finding.summary
    assert finding.witness is not None
    assert finding.witness.observed == pytest.approx(6.245, abs=1e-3)
    assert finding.measured["tokens a step needed"] == pytest.approx(22.78, abs=5e-3)


def test_what_must_be_true_is_told() -> None:
    assert "acceptance of a single draft: at least" in found(load_claim("eagle3-headline")).summary


def test_without_a_claim_there_is_nothing_to_judge() -> None:
    finding = found(None)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert finding.next_step == "specaudit run --suite test.toml --select CLM1 --claim FILE"


def test_a_claim_that_cannot_be_judged_is_no_violation() -> None:
    claim = load_claim("host-table")
    unknown = msgspec.structs.replace(claim.conditions, hardware="H9000")
    finding = found(msgspec.structs.replace(claim, conditions=unknown))
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "no device 'H9000'" in finding.summary


def test_hardware_recorded_with_the_plan_counts() -> None:
    faster = Device(name="H200", memory="141 GB", bandwidth="48 TB/s", memory_only=True, source="test")
    assert found(load_claim("host-table"), hardware=(faster,)).verdict is not Verdict.VIOLATES
