"""Go on with an audit that was broken off, `kill -9` included, without repeating or losing a sample."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from specaudit.audit.analyse import analyse
from specaudit.audit.arms import connect
from specaudit.audit.audit import Audit, Driven
from specaudit.audit.events import Judging, Resumed
from specaudit.audit.plan import checked
from specaudit.audit.record import Recorder, read_evidence
from specaudit.audit.run import carry_out, cluster_of
from specaudit.checks import registry
from specaudit.checks.selfsame import SELF, is_self
from specaudit.engines.addresses import public_address
from specaudit.model.entries import ResumeEntry
from specaudit.model.errors import UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.plan import ROLES, Plan
from specaudit.model.report import Report
from specaudit.model.suite import Suite
from specaudit.version import VERSION

ADDRESSES = ("endpoint", "reference", "full_precision", "metrics")


@dataclass(frozen=True, kw_only=True)
class Resume(Driven):
    """Which audit to go on with, and what its evidence does not hold."""

    folder: Path
    said: Mapping[str, Any] = field(default_factory=dict)
    """Options of the audit that are given again, by their names in `Audit`: each must agree with the recorded plan."""
    addresses: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict, repr=False)
    """`endpoint`, `reference`, `metrics` from settings, maybe with a password: used where they are the plan's own."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Limits that are given anew, by their names in `Limits`: the others stay. What was spent before counts."""


def resume_audit(resume: Resume) -> Report:
    """Carry a recorded audit to its end and judge it. One that is sealed already is judged only.

    Slots that were answered or lost are never asked again; those that were refused before anything was generated, or
    never recorded, are asked. Whatever happens, the evidence is kept, and can be resumed again.

    Raises:
        UsageError: there is no evidence, it was changed, what is said contradicts its plan, or another process is
            collecting into the folder.
        CouldNotTest: the disk does not take the evidence.
        KeyboardInterrupt: interrupted; the evidence says so.
    """
    evidence = read_evidence(resume.folder)
    plan = evidence.plan
    audit = _audit(resume, evidence)
    if not evidence.sealed:
        arms = connect(audit, plan)
        with cluster_of(audit) as cluster, Recorder.reopened(resume.folder) as recorder:
            evidence = recorder.evidence()
            resume.listener(_resumed(evidence))
            if not evidence.sealed:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                recorder.append(ResumeEntry(tool=VERSION, resumed=now, limits=audit.limits))
                carry_out(plan, arms, recorder, audit, cluster)
    else:
        resume.listener(_resumed(evidence))
    resume.listener(Judging())
    return analyse(read_evidence(resume.folder), allow_inconclusive=resume.allow_inconclusive)


def _resumed(evidence: Evidence) -> Resumed:
    answered = sum(attempt.response is not None for attempt in evidence.attempts())
    return Resumed(answered=answered, sealed=evidence.sealed)


def _audit(resume: Resume, evidence: Evidence) -> Audit:
    """The audit that the plan was made for, as far as its engines have to be reached again.

    Raises:
        UsageError: something that is said contradicts the plan; the message names the first.
    """
    plan = evidence.plan
    for name in resume.said:
        if (recorded := _contradicted(name, resume, plan)) is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} contradicts the recorded plan, which says: {recorded}.",
                hint=f"specaudit run --resume {shlex.quote(str(resume.folder))}",
            )
    public = _public(plan)
    private = {name: url for name, url in resume.addresses.items() if _shown(url) == public[name]}
    said = {name: resume.said[name] for name in ADDRESSES if name in resume.said}
    known: dict[str, Any] = public | private | said
    return Audit(
        suite=plan.suite,
        suite_file=plan.suite_file,
        out=resume.folder,
        **{name: getattr(resume, name) for name in Driven.__dataclass_fields__},
        limits=checked(msgspec.structs.replace(evidence.limits, **resume.limits)),
        **known,
    )


def _shown(address: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """An address, or several, as they may be recorded."""
    return public_address(address) if isinstance(address, str) else tuple(map(public_address, address))


def _public(plan: Plan) -> dict[str, str | tuple[str | None, ...] | None]:
    """The recorded addresses by option."""
    subject, reference, full = (plan.arm(role) for role in ROLES)
    endpoint = subject.endpoint if subject else None
    return {
        "endpoint": endpoint,
        "reference": SELF if is_self(plan) else reference.endpoint if reference else None,
        "full_precision": full.endpoint if full else None,
        "metrics": None if endpoint is None else (plan.metrics, *plan.replicas) if plan.replicas else plan.metrics,
    }


def _contradicted(name: str, resume: Resume, plan: Plan) -> str | None:
    """What the plan says in place of an option; None where the two agree."""
    value = resume.said[name]
    recorded: object
    match name:
        case "endpoint" | "reference" | "full_precision" | "metrics":
            recorded = _public(plan)[name]
            agrees = value == recorded or _shown(value) == recorded
        case (
            "model"
            | "engine"
            | "world"
            | "draft_tokens"
            | "target"
            | "draft"
            | "speculation"
            | "api"
            | "stream"
            | "tokenizer"
        ):
            recorded = getattr(plan.arm("subject"), name)
            agrees = value == recorded
        case "suite":
            recorded, agrees = plan.suite.name, _is_suite(value, plan)
        case "select":
            recorded, agrees = ", ".join(plan.checks), _is_selection(value, resume.said.get("ignore", ()), plan)
        case "ignore":
            recorded = ", ".join(plan.checks)
            agrees = not any(_names(value, check_id) for check_id in plan.checks)
        case "fixed_n":
            recorded = any(table.get("fixed_n") for table in plan.suite.checks.values())
            agrees = bool(value) == recorded
        case "out":
            recorded, agrees = resume.folder, Path(value).resolve() == resume.folder.resolve()
        case _:
            recorded = getattr(plan, name)
            agrees = value == recorded
    return None if agrees else _told(recorded)


def _told(recorded: object) -> str:
    return " and ".join(recorded) if isinstance(recorded, tuple) else "none" if recorded is None else str(recorded)


def _is_suite(suite: Suite, plan: Plan) -> bool:
    """Whether a suite is the plan's, which holds the selected checks only, and requires what was asked for."""

    def told(of: Suite, check_id: str) -> dict[str, Any]:
        return {**of.checks.get(check_id, {"missing": True}), "required": None}

    return suite.name == plan.suite.name and all(told(suite, name) == told(plan.suite, name) for name in plan.checks)


def _is_selection(select: Sequence[str], ignored: Sequence[str], plan: Plan) -> bool:
    """Whether a selection, which requires whatever it names, names the plan's checks and no other."""
    names = [name for name in select if name not in ignored]
    return (
        plan.required == plan.checks
        and all(_names(names, check_id) for check_id in plan.checks)
        and all(any(_names([name], check_id) for check_id in plan.checks) for name in names)
    )


def _names(names: Sequence[str], check_id: str) -> bool:
    """Whether a check is among names of checks and families."""
    return check_id in names or registry.family(check_id) in names
