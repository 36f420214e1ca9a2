"""Judge evidence: pure, offline, and the same bytes every time."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from specaudit.audit.budget import spent_in
from specaudit.audit.shortfalls import shortfalls
from specaudit.audit.undone import progress, unfinished
from specaudit.checks import registry
from specaudit.checks.commands import again
from specaudit.checks.interface import budget_of
from specaudit.model.entries import AttemptEntry, Failure
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Role
from specaudit.model.record import digest
from specaudit.model.report import EXIT_INTERNAL, EXIT_INTERRUPTED, Report, Scope, exit_code_of
from specaudit.model.rounding import rounded
from specaudit.version import VERSION

CUT_OFF = "Collecting was cut off: the evidence ends without a seal."
"""What a killed process leaves, and what is left where lines were taken from the end."""

_log = logging.getLogger(__name__)


def analyse(evidence: Evidence, *, allow_inconclusive: bool = False) -> Report:
    """Run every planned check on the evidence and put the findings together.

    A check that crashes is inconclusive and makes the exit code 70; the others still count. Evidence that was
    interrupted or cut off gives 130 whenever it is judged: what it would have shown in the end is not known. A limit
    that ended collecting leaves it open (4), or untested (3) where nothing was collected.
    """
    plan, stop = evidence.plan, evidence.stop
    findings, crashed = _findings(evidence)
    code = exit_code_of(
        findings,
        could_not_test=stop is not None and not stop.interrupted and not (stop.limit and _anything(evidence)),
        interrupted=stop.interrupted if stop else not evidence.sealed,
        allow_inconclusive=allow_inconclusive,
    )
    attempts = evidence.attempts()
    arm_of = {name: [planned.arm for planned in stage.slots()] for name, stage in evidence.stages.items()}
    asked = {role for arms in arm_of.values() for role in arms}
    shown = [role for role in get_args(Role) if plan.arm(role) or role in asked]
    by_role = {role: [a for a in attempts if arm_of[a.stage][a.slot] == role] for role in shown}
    return Report(
        tool=VERSION,
        suite=plan.suite.name,
        suite_digest=digest(plan.suite),
        arms=plan.arms,
        evidence_digest=evidence.digest,
        complete=evidence.sealed,
        stopped=_why_stopped(evidence),
        alpha=plan.alpha,
        findings=findings,
        exit_code=EXIT_INTERNAL if crashed and code != EXIT_INTERRUPTED else code,
        tokens={role: sum(map(_tokens, of_role)) for role, of_role in by_role.items()},
        requests={role: len(of_role) for role, of_role in by_role.items()},
        lost=len({(a.stage, a.slot) for a in attempts} - {(a.stage, a.slot) for a in attempts if a.response}),
        cost=evidence.limits.cost(spent_in(evidence)) if evidence.limits.priced else None,
        scope=_scope(evidence, attempts, arm_of),
    )


def _scope(evidence: Evidence, attempts: Sequence[AttemptEntry], arm_of: Mapping[str, Sequence[Role]]) -> Scope:
    plan = evidence.plan
    failures = Counter(
        f"the {arm_of[attempt.stage][attempt.slot]}: {_reason(attempt.failure)}"
        for attempt in attempts
        if attempt.failure is not None
    )
    return Scope(
        title=plan.suite.title,
        planned=plan.created,
        planned_by=plan.tool,
        seed=plan.seed,
        concurrency=plan.concurrency,
        metrics=() if plan.metrics is None else (plan.metrics, *plan.replicas),
        segment=plan.segment,
        settings={check_id: plan.suite.checks.get(check_id, {}) for check_id in plan.checks},
        revealed={role: found for role, found in evidence.capabilities.items()},
        again=again(plan),
        failures=dict(sorted(failures.items())),
    )


def _reason(failure: Failure) -> str:
    status = "" if failure.status is None else f" {failure.status}"
    return f"{failure.reason}{status}{', answer lost' if failure.lost else ', asked again'}"


def _findings(evidence: Evidence) -> tuple[tuple[Finding, ...], bool]:
    """What every planned check finds, and whether one crashed.

    A check that rejects leaves its share of the error budget to the others, which are then judged again (Holm 1979).
    """
    found: dict[str, Finding] = {}
    crashed, rejected = False, -1
    while rejected < (violated := sum(one.verdict is Verdict.VIOLATES for one in found.values())):
        rejected = violated
        for check_id in evidence.plan.checks:
            if check_id in found and found[check_id].verdict is Verdict.VIOLATES:
                continue
            try:
                found[check_id] = _judge(evidence, check_id, rejected)
            except Exception as error:
                _log.exception("check %s crashed", check_id)
                found[check_id] = _crashed(check_id, check_id in evidence.plan.required, error)
                crashed = True
    return tuple(found[check_id] for check_id in evidence.plan.checks), crashed


def _judge(evidence: Evidence, check_id: str, rejected: int) -> Finding:
    """Judge; what conforms on a part of what was planned, because collecting ended, is not decided."""
    settings = registry.settings_of(evidence.plan.suite, check_id)
    budget = budget_of(evidence.plan, check_id, rejected=rejected)
    finding = rounded(registry.get(check_id).judge(settings, evidence, budget))
    if short := shortfalls(evidence, check_id):
        finding = msgspec.structs.replace(finding, notes=(*short, *finding.notes))
    stop, decided = evidence.stop, (Verdict.VIOLATES, Verdict.NOT_APPLICABLE)
    if stop is None or stop.interrupted or finding.verdict in decided or not unfinished(evidence, check_id):
        return finding
    if stop.limit and finding.verdict is not Verdict.CONFORMS:
        return finding
    done, planned = progress(evidence, check_id)
    if stop.limit:
        summary = f"{finding.summary} But only {done:,} of {planned:,} requests were made before {stop.limit} ended it."
        return msgspec.structs.replace(finding, verdict=Verdict.INCONCLUSIVE, summary=summary)
    # An engine has died: whatever a check makes of a part, e.g. that nothing ran beside its requests, is no reason.
    got = (
        f"after {done:,} of the {planned:,} requests planned so far" if planned else "before anything was asked for it"
    )
    return msgspec.structs.replace(
        finding,
        verdict=Verdict.INCONCLUSIVE,
        summary=f"Collecting ended {got}. {stop.why}",
        notes=(*finding.notes, f"of the part that was collected: {finding.summary.removesuffix('.')}"),
        next_step=stop.hint,
    )


def _anything(evidence: Evidence) -> bool:
    return any(attempt.response is not None for attempt in evidence.attempts())


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
    return attempt.response.received if attempt.response else 0
