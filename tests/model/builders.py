"""Small evidence, built by hand."""

from collections.abc import Sequence

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import AnyEntry, AttemptEntry, Failure, PlanEntry, ProbeEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Arm, Plan, PlannedRequest, Role, Stage
from specaudit.model.record import digest
from specaudit.model.request import Request, Sampling, Token
from specaudit.model.suite import Suite


def plan(check: str = "LAW1", settings: dict[str, object] | None = None, **changes: object) -> Plan:
    fields: dict[str, object] = {
        "tool": "test",
        "created": "2026-01-01T00:00:00+00:00",
        "suite": Suite(name="test", title="", checks={check: settings or {}}),
        "checks": (check,),
        "required": (check,),
        "arms": (Arm(role="subject", engine="reference"), Arm(role="reference", engine="reference")),
        "alpha": 1e-3,
        "seed": 0,
        "concurrency": 1,
    }
    return Plan(**{**fields, **changes})


def planned(arm: Role = "subject", *, prompt_index: int = 0, n: int = 1, max_tokens: int = 3) -> PlannedRequest:
    request = Request(prompt=(0,), sampling=Sampling(), seed=0, n=n, max_tokens=max_tokens)
    return PlannedRequest(arm=arm, prompt_index=prompt_index, request=request)


def answer(*rows: Sequence[Token] | None, finish: str = "length") -> Response:
    completions = tuple(Completion(tokens=None if row is None else tuple(row), finish_reason=finish) for row in rows)
    return Response(completions=completions)


def attempt(stage: str, slot: int, response: Response | None = None, *, number: int = 1) -> AttemptEntry:
    failure = None if response else Failure(reason="timeout", message="gone", lost=True)
    return AttemptEntry(
        stage=stage, slot=slot, number=number, started="", seconds=0.0, response=response, failure=failure
    )


def evidence(stage: Stage, attempts: Sequence[AttemptEntry], *extra: AnyEntry, header: Plan | None = None) -> Evidence:
    head = header or plan()
    found = Capabilities(engine="reference", tokens="ids")
    probes = [ProbeEntry(role=arm.role, capabilities=found) for arm in head.arms]
    stages = [StageEntry(stage=stage, digest=digest(stage))]
    return Evidence([PlanEntry(plan=head, digest=digest(head)), *probes, *stages, *attempts, *extra])
