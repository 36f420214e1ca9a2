"""Carry out stages in shards on other machines, and gather what they were answered."""

import asyncio
from dataclasses import dataclass, replace

from specaudit.audit.arms import Arms, connect
from specaudit.audit.audit import Audit
from specaudit.audit.collect import Collector
from specaudit.audit.events import RequestEnded, silent
from specaudit.audit.keys import keys_from_environment
from specaudit.audit.record import InMemory, Recorder
from specaudit.audit.shards import Shard
from specaudit.executors import Executor
from specaudit.model.entries import AnyEntry, AttemptEntry, PlanEntry, ProbeEntry, StageEntry, StopEntry
from specaudit.model.errors import CouldNotTest, SpecauditError
from specaudit.model.plan import Plan, Stage
from specaudit.model.record import digest


@dataclass(frozen=True, kw_only=True)
class Part:
    """A shard of a stage, with everything that is needed to ask it: no key, which whoever asks has in the environment.

    Attributes:
        audit: Where the engines are.
        plan: The plan.
        stage: The stage.
        shard: Which of its requests.
        before: What is recorded of that stage already, behind what was found out about the engines.
    """

    audit: Audit
    plan: Plan
    stage: Stage
    shard: Shard
    before: tuple[AnyEntry, ...]


class Scattered:
    """Carries out stages on an executor, one shard to a worker; used where a `Collector` is."""

    def __init__(self, audit: Audit, plan: Plan, recorder: Recorder, executor: Executor) -> None:
        self._audit = replace(audit, api_key=None, reference_api_key=None, headers={}, listener=silent)
        self._plan = plan
        self._recorder = recorder
        self._executor = executor
        self._listener = audit.listener

    async def collect(self, stage: Stage) -> None:
        """Carry out a stage, or what is left of it.

        The requests of a worker that dies are made again by another: that it died has nothing to do with what it was
        answered.

        Raises:
            CouldNotTest: a worker could not go on, or there are none; what was collected is recorded.
        """
        evidence = self._recorder.evidence()
        probes = tuple(entry for entry in evidence.entries if isinstance(entry, ProbeEntry))
        before: tuple[AnyEntry, ...] = (
            *probes,
            *evidence.attempts(stage.name),
            *(reading for page in self._plan.pages for reading in evidence.snapshots(stage.name, page).values()),
        )
        workers = max(1, self._executor.workers)
        shards = [Shard(number, workers) for number in range(1, workers + 1)]
        parts = [
            Part(audit=self._audit, plan=self._plan, stage=stage, shard=shard, before=before)
            for shard in shards
            if shard.slots(stage)
        ]
        stopped: StopEntry | None = None
        answered = iter(self._executor.map(ask, parts))
        while (entries := await asyncio.to_thread(next, answered, None)) is not None:
            for entry in entries:
                if isinstance(entry, StopEntry):
                    stopped = entry
                else:
                    self._recorder.append(entry)
                    self._tell(entry)
        if stopped is not None:
            raise CouldNotTest(stopped.why, hint=stopped.hint)

    def _tell(self, entry: AnyEntry) -> None:
        if isinstance(entry, AttemptEntry):
            answers = entry.response.completions if entry.response else ()
            tokens = sum(len(completion.tokens or ()) for completion in answers)
            self._listener(RequestEnded(answered=entry.response is not None, tokens=tokens))


def ask(part: Part) -> list[AnyEntry]:
    """Ask a part, wherever this is called, and return what came of it; why it ended early comes last."""
    recorder = InMemory([PlanEntry(plan=part.plan, digest=digest(part.plan)), *part.before])
    recorder.append(StageEntry(stage=part.stage, digest=digest(part.stage)))
    known = len(recorder.entries)
    try:
        arms = connect(replace(part.audit, **keys_from_environment()), part.plan)
        asyncio.run(_ask(part, arms, recorder))
    except SpecauditError as error:
        recorder.append(StopEntry(why=f"Shard {part.shard}: {error.message}", hint=error.hint))
    return recorder.entries[known:]


async def _ask(part: Part, arms: Arms, recorder: InMemory) -> None:
    found = recorder.evidence().capabilities
    try:
        for role, engine in arms.engines.items():
            probe = await engine.probe()
            recorder.append(
                ProbeEntry(role=role, capabilities=found[role], exchanges=probe.exchanges, spent=probe.spent)
            )
            if probe.capabilities.engine != found[role].engine or probe.capabilities.model != found[role].model:
                raise CouldNotTest(
                    f"The {role} is not what it was when the audit began: {probe.capabilities.engine} with "
                    f"{probe.capabilities.model}.",
                    hint="Let all workers reach the same server under the address that was given",
                )
        collector = Collector(
            recorder,
            arms.engines,
            arms.scrapers,
            concurrency=part.plan.concurrency,
            listener=silent,
            pacer=arms.pacer,
            shard=part.shard,
        )
        await collector.collect(part.stage)
    finally:
        await arms.close()
