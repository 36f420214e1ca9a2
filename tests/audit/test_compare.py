"""What changed between two audits, and what of it is for the worse."""

import msgspec
import pytest

from specaudit.audit.compare import compare
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.report import Report
from tests.render.reports import report

C, V, U, N = Verdict.CONFORMS, Verdict.VIOLATES, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE


def audit(*findings: Finding, **changes: object) -> Report:
    return report(0, *findings, **changes)


def finding(verdict: Verdict, check: str = "LAW1", *, required: bool = True, effect: Effect | None = None) -> Finding:
    return Finding(check=check, verdict=verdict, required=required, summary=f"{check} {verdict}", effect=effect)


def effect(low: float | None, high: float | None, name: str = "total variation") -> Effect:
    return Effect(name=name, value=0.1, low=low, high=high, confidence=0.999)


def told(first: Report, second: Report) -> tuple[str, int]:
    found = compare(first, second, ("a", "b"))
    return found.rows[0].change, found.exit_code


@pytest.mark.parametrize(
    ("before", "after", "change", "code"),
    [
        (C, C, "same", 0),
        (V, V, "same", 0),
        (U, N, "same", 0),
        (C, V, "worse", 1),
        (U, V, "worse", 1),
        (C, U, "worse", 4),
        (C, N, "worse", 4),
        (V, U, "better", 0),
        (V, C, "better", 0),
        (U, C, "better", 0),
    ],
)
def test_a_verdict_changes(before: Verdict, after: Verdict, change: str, code: int) -> None:
    assert told(audit(finding(before)), audit(finding(after))) == (change, code)


def test_an_optional_check_that_no_longer_conforms_is_worse_but_fails_nothing() -> None:
    optional = {"required": False}
    assert told(audit(finding(C, **optional)), audit(finding(U, **optional))) == ("worse", 0)
    assert told(audit(finding(C, **optional)), audit(finding(V, **optional))) == ("worse", 1)


def test_checks_of_one_audit_only() -> None:
    both, new, gone = finding(C, "GRD1"), finding(C, "LAW2"), finding(C, "LAW3")
    found = compare(audit(both, gone), audit(both, new), ("a", "b"))
    assert [(row.check, row.change) for row in found.rows] == [("GRD1", "same"), ("LAW2", "new"), ("LAW3", "gone")]
    assert found.exit_code == 4  # a required check that conformed is not run any more
    assert compare(audit(both), audit(both, finding(V, "LAW2")), ("a", "b")).exit_code == 1
    assert compare(audit(both), audit(new), ("a", "b")).exit_code == 3


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        (effect(0.0, 0.1), effect(0.2, 0.3), True),
        (effect(0.2, 0.3), effect(0.0, 0.1), True),
        (effect(0.0, 0.2), effect(0.1, 0.3), False),
        (effect(None, 0.1), effect(0.2, None), True),
        (effect(0.0, None), effect(None, 0.3), False),
        (effect(0.0, 0.1), effect(0.2, 0.3, "another"), False),
        (None, effect(0.2, 0.3), False),
    ],
)
def test_effects_are_apart_where_their_intervals_exclude_each_other(
    first: Effect | None, second: Effect | None, apart: bool
) -> None:
    found = compare(audit(finding(C, effect=first)), audit(finding(C, effect=second)), ("a", "b"))
    assert found.rows[0].apart is apart


def test_what_else_differs_is_told() -> None:
    first = audit(finding(C))
    second = audit(finding(C), suite="other", alpha=0.01, evidence_digest="ef" * 32, complete=False)
    assert compare(first, second, ("a", "b")).differences == (
        "The suites differ: quick and other.",
        "The error budgets differ: 0.001 and 0.01.",
        "The second audit is not complete.",
    )
    assert compare(first, first, ("a", "b")).differences == ("Both are judged from the same evidence.",)


def test_it_survives_its_own_form() -> None:
    found = compare(audit(finding(C)), audit(finding(V)), ("a", "b"))
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
