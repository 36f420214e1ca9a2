"""Carry out a check against decoders in this process, without files or HTTP, at any level of evidence."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

import msgspec

from specaudit.checks.interface import Check
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
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.record import digest
from specaudit.model.suite import CheckSettings

Level = Literal["exact", "scored", "sampled", "text"]

Spoil = Callable[[PlannedRequest, Response], Response | None]
"""Makes another response of one that came; None for one that got lost."""

HIDDEN: Mapping[Level, Mapping[str, Any]] = {
    "exact": {},
    "scored": {},
    "sampled": {"logprobs": 0, "scores_prompts": False},
    "text": {"logprobs": 0, "scores_prompts": False, "token_prompts": False, "tokens": "retokenized"},
}
"""What engines do not reveal at each level; the law itself is revealed at the first only. At the last they tell text,
which a tokenizer of the user's divides."""


def drive(
    check: Check[Any],
    settings: CheckSettings,
    plan: Plan,
    engines: Mapping[Role, ReferenceEngine],
    *,
    reveal: bool,
    hidden: Mapping[Role, Mapping[str, Any]],
    spoil: Spoil = lambda planned, response: response,
) -> Evidence:
    """Return the evidence of all stages of a check.

    Args:
        check: The check.
        settings: Its settings.
        plan: The header of an audit with that check; its concurrency is kept.
        engines: The arms.
        reveal: Whether the reference's law is told, where there is one.
        hidden: What each arm's capabilities say instead of what is so.
        spoil: Changes what comes back.
    """
    entries: list[AnyEntry] = [PlanEntry(plan=plan, digest=digest(plan))]
    for role, engine in engines.items():
        found: Capabilities = asyncio.run(engine.probe()).capabilities
        told = {"counters": role == "subject", **hidden[role]}
        entries.append(ProbeEntry(role=role, capabilities=msgspec.structs.replace(found, **told)))
    law = engines["reference"].law() if reveal else None
    if law is not None:
        entries.append(LawEntry(role="reference", law=law))
    while (stage := check.next_stage(plan, settings, Evidence(entries))) is not None:
        entries.append(StageEntry(stage=stage, digest=digest(stage)))
        entries += asyncio.run(_collect(stage, engines, plan.concurrency, spoil))
    return Evidence(entries)


async def _collect(
    stage: Stage, engines: Mapping[Role, ReferenceEngine], concurrency: int, spoil: Spoil
) -> list[AnyEntry]:
    """Ask the requests of each block side by side, and read the counters between blocks."""
    entries: list[AnyEntry] = []
    first, ticks = 0, count()
    for number, block in enumerate((None, *stage.blocks)):
        requests = [stage.whole(planned) for planned in block or ()]
        turns = asyncio.Semaphore(min(stage.concurrency or concurrency, concurrency))
        asked = [
            _attempt(engines[one.engine], stage.name, first + i, one, turns, ticks, spoil)
            for i, one in enumerate(requests)
        ]
        entries += await asyncio.gather(*asked)
        first += len(requests)
        if stage.scrape:
            entries.append(await _snapshot(engines["subject"], stage.name, number))
    return entries


async def _snapshot(subject: ReferenceEngine, stage: str, block: int) -> SnapshotEntry:
    page = (await subject.scrape()).text
    sha = hashlib.sha256(page.encode()).hexdigest()
    return SnapshotEntry(stage=stage, block=block, taken="", quiet=True, page=page, sha256=sha)


async def _attempt(
    engine: ReferenceEngine,
    stage: str,
    slot: int,
    planned: PlannedRequest,
    turns: asyncio.Semaphore,
    ticks: Iterator[int],
    spoil: Spoil,
) -> AttemptEntry:
    """Ask once. Times count what began and what ended, so that they tell what ran beside what wherever this runs."""
    async with turns:
        begun, response, failed = next(ticks), None, None
        try:
            response = spoil(planned, await engine.complete(planned.request))
        except EngineFailure as failure:
            failed = failure.failure
        ended = next(ticks)
    return AttemptEntry(
        stage=stage,
        slot=slot,
        number=1,
        started=datetime.fromtimestamp(begun, UTC).isoformat(timespec="milliseconds"),
        seconds=float(ended - begun),
        response=response,
        failure=failed,
    )


def tokens_of(evidence: Evidence, stages: Sequence[str], role: Role = "subject") -> int:
    """Count the tokens that an arm emitted in the stages."""
    answers = (response for stage in stages for _, _, response in evidence.answered(stage, role))
    return sum(len(one.tokens or ()) for response in answers if response for one in response.completions)
