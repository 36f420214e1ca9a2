"""A check within a check: what one check asks and judges, done for a part of another's question.

Evidence of a part is evidence of its own: its stages have the names, its arms the roles that the inner check knows. So
LAW5 judges every cell of its matrix as LAW1 would judge an audit of nothing else, and LAW6 holds its subject against
one target and then against another, without a second statistics. Only the candidates among which prompts are chosen
are tried once for all: that stage belongs to the audit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from specaudit.checks.interface import Budget, Check, budget_of
from specaudit.checks.powered import STAGE as CANDIDATES
from specaudit.checks.seeds import fits
from specaudit.model.entries import (
    AnyEntry,
    AttemptEntry,
    LawEntry,
    PlanEntry,
    ProbeEntry,
    SnapshotEntry,
    StageEntry,
)
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict, View
from specaudit.model.plan import Plan, Role, Stage

AS_THEY_ARE: Mapping[Role, Role] = {"subject": "subject", "reference": "reference"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a check, which another check asks and judges."""

    owner: str
    """Id of the check that it is a part of."""
    number: int
    """From 0 on."""
    planned: int
    """Parts that share the owner's error budget; none is ever left out."""
    check: Check[Any]
    settings: Any
    """Of the inner check."""
    arms: Mapping[Role, Role] = field(default_factory=lambda: AS_THEY_ARE)
    """Which arm of the audit has which role here."""
    revealed: bool = True
    """Whether laws that engines in process reveal may be used."""
    hidden: Mapping[str, Any] = field(default_factory=dict)
    """Capabilities that are not to be used, with what they are here instead."""

    @property
    def prefix(self) -> str:
        """How the names of its stages begin."""
        return f"{self.owner}.{self.number}."

    def plan(self, plan: Plan) -> Plan:
        """Return the header of the part: the audit's, with an even share of the owner's error budget.

        As many checks as there are parts are planned for each check of the audit, so that no two parts share seeds.

        Raises:
            ValueError: seeds do not suffice for so many parts.
        """
        places = len(plan.checks) * self.planned
        if not fits(places):
            raise ValueError(f"{self.planned} parts beside {len(plan.checks)} checks need more seeds than there are")
        checks = [f"{self.owner}.{place}" for place in range(places)]
        checks[self.number] = self.check.id
        role_of = {arm: role for role, arm in self.arms.items()}
        return msgspec.structs.replace(
            plan,
            checks=tuple(checks),
            required=(),
            arms=tuple(
                msgspec.structs.replace(arm, role=role_of[arm.role]) for arm in plan.arms if arm.role in role_of
            ),
        )

    def evidence(self, evidence: Evidence) -> Evidence:
        """Return what of an audit's evidence belongs to the part."""
        role_of = {arm: role for role, arm in self.arms.items()}
        entries: list[AnyEntry] = [PlanEntry(plan=self.plan(evidence.plan), digest="")]
        for entry in evidence.entries:
            match entry:
                case ProbeEntry() if entry.role in role_of:
                    found = msgspec.structs.replace(entry.capabilities, **self.hidden)
                    entries.append(msgspec.structs.replace(entry, role=role_of[entry.role], capabilities=found))
                case LawEntry() if self.revealed and entry.role in role_of:
                    entries.append(msgspec.structs.replace(entry, role=role_of[entry.role]))
                case StageEntry() if entry.stage.name == CANDIDATES:
                    entries.append(entry)
                case AttemptEntry() | SnapshotEntry() if entry.stage == CANDIDATES:
                    entries.append(entry)
                case StageEntry() if entry.stage.name.startswith(self.prefix):
                    stage = _renamed(entry.stage, self._inner(entry.stage.name), role_of)
                    entries.append(msgspec.structs.replace(entry, stage=stage))
                case AttemptEntry() | SnapshotEntry() if entry.stage.startswith(self.prefix):
                    entries.append(msgspec.structs.replace(entry, stage=self._inner(entry.stage)))
                case _:
                    pass
        return Evidence(entries)

    def begun(self, evidence: Evidence) -> bool:
        """Say whether anything was asked for the part."""
        return any(name.startswith(self.prefix) for name in evidence.stages)

    def next_stage(self, plan: Plan, evidence: Evidence) -> Stage | None:
        """Return the next stage that the part needs, under its name in the audit; None when it needs no more."""
        stage = self.check.next_stage(self.plan(plan), self.settings, self.evidence(evidence))
        if stage is None or stage.name == CANDIDATES:
            return stage
        return _renamed(stage, self.prefix + stage.name.removeprefix(f"{self.check.id}."), self.arms)

    def judge(self, evidence: Evidence, budget: Budget) -> Finding:
        """Conclude from the part's evidence, on its share of the owner's budget."""
        own = self.evidence(evidence)
        share = replace(budget_of(own.plan, self.check.id), alpha=budget.alpha / self.planned, delta=budget.delta)
        return self.check.judge(self.settings, own, share)

    def _inner(self, name: str) -> str:
        return f"{self.check.id}.{name.removeprefix(self.prefix)}"


def view_of(name: str, finding: Finding, *, samples: int, verdict: Verdict) -> View | None:
    """Return the line that a part has in its owner's table; None where nothing could be measured.

    Args:
        name: Of the part, as a reader is told.
        finding: What the inner check found.
        samples: What it rests on.
        verdict: What its owner makes of it.
    """
    if finding.effect is None or finding.statistic is None:
        return None
    return View(
        name=name,
        samples=samples,
        law=" and ".join(dict.fromkeys(view.law for view in finding.views)),
        effect=finding.effect,
        statistic=finding.statistic,
        verdict=verdict,
    )


def _renamed(stage: Stage, name: str, roles: Mapping[Role, Role]) -> Stage:
    blocks = tuple(
        tuple(msgspec.structs.replace(planned, arm=roles.get(planned.arm, planned.arm)) for planned in block)
        for block in stage.blocks
    )
    return msgspec.structs.replace(stage, name=name, blocks=blocks)
