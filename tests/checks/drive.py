"""Carry out a check's stages against decoders in this process, without files or HTTP."""

import asyncio
import hashlib
from collections.abc import Callable

import msgspec

from specaudit.checks.interface import Check
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.interface import EngineFailure
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
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
from specaudit.model.plan import PlannedRequest, Role
from specaudit.model.record import digest
from specaudit.model.suite import CheckSettings
from specaudit.mutants import registry as mutants
from tests.model.builders import plan

Spoil = Callable[[PlannedRequest, Response], Response | None]


def engine(name: str = "reference", draft_tokens: int = 3) -> ReferenceEngine:
    """A decoder by name: `reference`, or a mutant's name."""
    build = SpeculativeDecoder if name == "reference" else mutants.get(name).build
    return ReferenceEngine(build(MARKOV4, draft_tokens=draft_tokens))


def drive(
    check: Check,
    settings: CheckSettings,
    subject: ReferenceEngine,
    *,
    reveal: bool = False,
    seed: int = 0,
    subject_tokens: str = "ids",
    spoil: Spoil = lambda planned, response: response,
    **hidden: object,
) -> Evidence:
    """Return the evidence of a check's stages; `hidden` overrides what the arms' capabilities say."""
    head = plan(check.id, alpha=1e-3, metrics="in process", seed=seed)
    engines: dict[Role, ReferenceEngine] = {"subject": subject, "reference": engine(draft_tokens=0)}
    entries: list[AnyEntry] = [PlanEntry(plan=head, digest=digest(head))]
    for role, one in engines.items():
        found: Capabilities = asyncio.run(one.probe()).capabilities
        found = msgspec.structs.replace(found, **{"counters": role == "subject", **hidden})
        if role == "subject":
            found = msgspec.structs.replace(found, tokens=subject_tokens)
        entries.append(ProbeEntry(role=role, capabilities=found))
    if reveal:
        entries.append(LawEntry(role="reference", law=engines["reference"].law()))
    while (stage := check.next_stage(head, settings, Evidence(entries))) is not None:
        entries.append(StageEntry(stage=stage, digest=digest(stage)))
        slot = 0
        for number, block in enumerate((None, *stage.blocks)):
            for planned in block or ():
                entries.append(_attempt(engines[planned.arm], stage.name, slot, planned, spoil))
                slot += 1
            if stage.scrape:
                page = asyncio.run(subject.scrape()).text
                sha = hashlib.sha256(page.encode()).hexdigest()
                entries.append(
                    SnapshotEntry(stage=stage.name, block=number, taken="", quiet=True, page=page, sha256=sha)
                )
    return Evidence(entries)


def _attempt(one: ReferenceEngine, stage: str, slot: int, planned: PlannedRequest, spoil: Spoil) -> AttemptEntry:
    entry = AttemptEntry(stage=stage, slot=slot, number=1, started="", seconds=0.0)
    try:
        response = spoil(planned, asyncio.run(one.complete(planned.request)))
    except EngineFailure as failure:
        return msgspec.structs.replace(entry, failure=failure.failure)
    return msgspec.structs.replace(entry, response=response)
