"""Judge evidence: pure, offline, and the same bytes every time."""

import hashlib
import logging

import msgspec

from specaudit.checks import registry
from specaudit.checks.interface import Budget
from specaudit.model.entries import AttemptEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import ROLES
from specaudit.model.record import digest
from specaudit.model.report import EXIT_INTERNAL, EXIT_INTERRUPTED, Report, exit_code_of
from specaudit.model.rounding import rounded
from specaudit.version import VERSION

CUT_OFF = "Collecting was cut off: the evidence ends without a seal."
"""What a killed process leaves, and what is left where lines were taken from the end."""

_log = logging.getLogger(__name__)


def analyse(evidence: Evidence, *, allow_inconclusive: bool = False) -> Report:
    """Run every planned check on the evidence and put the findings together.

    A check that crashes is inconclusive and makes the exit code 70; the others still count. Evidence that was
    interrupted or cut off gives 130 whenever it is judged: what it would have shown in the end is not known.
    """
    plan, stop = evidence.plan, evidence.stop
    findings: list[Finding] = []
    crashed = False
    for check_id in plan.checks:
        try:
            findings.append(_judge(evidence, check_id))
        except Exception as error:
            _log.exception("check %s crashed", check_id)
            findings.append(_crashed(check_id, check_id in plan.required, error))
            crashed = True
    code = exit_code_of(
        tuple(findings),
        could_not_test=stop is not None and not stop.interrupted,
        interrupted=stop.interrupted if stop else not evidence.sealed,
        allow_inconclusive=allow_inconclusive,
    )
    attempts = evidence.attempts()
    arm_of = {name: [planned.arm for planned in stage.slots()] for name, stage in evidence.stages.items()}
    by_role = {role: [a for a in attempts if arm_of[a.stage][a.slot] == role] for role in ROLES if plan.arm(role)}
    return Report(
        tool=VERSION,
        suite=plan.suite.name,
        suite_digest=digest(plan.suite),
        arms=plan.arms,
        evidence_digest=evidence.digest,
        complete=evidence.sealed,
        stopped=_why_stopped(evidence),
        alpha=plan.alpha,
        findings=tuple(findings),
        exit_code=EXIT_INTERNAL if crashed and code != EXIT_INTERRUPTED else code,
        tokens={role: sum(map(_tokens, of_role)) for role, of_role in by_role.items()},
        requests={role: len(of_role) for role, of_role in by_role.items()},
        lost=len({(a.stage, a.slot) for a in attempts} - {(a.stage, a.slot) for a in attempts if a.response}),
    )


def _judge(evidence: Evidence, check_id: str) -> Finding:
    plan = evidence.plan
    # Not from the time of the plan: the same audit of the same engine is judged with the same draws.
    timeless = msgspec.structs.replace(plan, created="")
    seed = hashlib.sha256(f"{digest(timeless)} {check_id}".encode()).digest()
    budget = Budget(alpha=plan.alpha / len(plan.checks), delta=plan.alpha, seed=int.from_bytes(seed[:8], "big"))
    settings = registry.settings_of(plan.suite, check_id)
    return rounded(registry.get(check_id).judge(settings, evidence, budget))


def _crashed(check_id: str, required: bool, error: Exception) -> Finding:
    return Finding(
        check=check_id,
        verdict=Verdict.INCONCLUSIVE,
        required=required,
        summary=f"The check itself failed ({type(error).__name__}: {error}); this says nothing about the engine.",
        next_step="Please report this with the evidence folder.",
    )


def _why_stopped(evidence: Evidence) -> str | None:
    stop = evidence.stop
    if stop is not None:
        return f"{stop.why} Try: {stop.hint}" if stop.hint else stop.why
    return None if evidence.sealed else CUT_OFF


def _tokens(attempt: AttemptEntry) -> int:
    return sum(len(c.tokens or ()) for c in attempt.response.completions) if attempt.response else 0
