"""Run an audit: plan, probe, collect, judge."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from specaudit.audit.alike import tell_alike
from specaudit.audit.analyse import analyse
from specaudit.audit.arms import Arms, connect
from specaudit.audit.audit import Audit
from specaudit.audit.budget import PROBING, Ledger, LimitReached, spent_in
from specaudit.audit.collect import Collector
from specaudit.audit.events import Earned, Judging, StageStarted
from specaudit.audit.filters import wanted_filters
from specaudit.audit.plan import make_plan
from specaudit.audit.probing import probe
from specaudit.audit.record import Recorder, read_evidence
from specaudit.audit.shards import WHOLE, PartDone, wait_for_others
from specaudit.audit.undone import left_undone
from specaudit.checks import registry
from specaudit.checks.sameness import SAME_PROMPTS, prompts_differ
from specaudit.executors import DaskExecutor, Executor
from specaudit.model.entries import PlanEntry, SealEntry, StageEntry, StopEntry
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.limits import NOTHING, UNLIMITED
from specaudit.model.plan import Plan, Stage
from specaudit.model.record import digest
from specaudit.model.report import Report

if TYPE_CHECKING:
    from specaudit.audit.scatter import Scattered


def run_audit(audit: Audit) -> Report:
    """Run an audit to its report.

    Whatever happens, what was collected stays in `audit.out`. An engine that dies gives a report with exit code 3,
    since that is a result too. The report is made from the file, so that judging it again gives the same.

    Raises:
        UsageError: the audit cannot be planned as asked; nothing was written.
        CouldNotTest: nothing is selected, or the disk does not take the evidence.
        KeyboardInterrupt: interrupted; the evidence says so.
    """
    plan = make_plan(audit)
    arms = connect(audit, plan)
    with cluster_of(audit) as cluster, Recorder(audit.out) as recorder:
        recorder.append(PlanEntry(plan=plan, digest=digest(plan)))
        carry_out(plan, arms, recorder, audit, cluster)
    audit.listener(Judging())
    return analyse(read_evidence(audit.out), allow_inconclusive=audit.allow_inconclusive)


@contextmanager
def cluster_of(audit: Audit) -> Iterator[Executor | None]:
    """Reach the cluster that is to ask; None where this process does.

    Raises:
        UsageError: options are set that a cluster cannot keep, or the package `distributed` is not installed.
        CouldNotTest: no scheduler answers.
    """
    if audit.scheduler is None:
        yield None
        return
    for option, is_set in {
        "--shard": audit.shard != WHOLE,
        "--header": bool(audit.headers),
        "limits": audit.limits != UNLIMITED,
    }.items():
        if is_set:
            raise UsageError(
                f"--scheduler cannot be combined with {option}: "
                "workers divide the plan themselves, share no limits, and take keys from their own environment only.",
                hint=f"specaudit run --scheduler {audit.scheduler}",
            )
    with closing(DaskExecutor(audit.scheduler)) as executor:
        yield executor


def carry_out(plan: Plan, arms: Arms, recorder: Recorder, audit: Audit, cluster: Executor | None) -> None:
    """Collect whatever the recorder does not hold of the plan yet, or a shard of it, and record how that ended.

    Raises:
        CouldNotTest: the disk does not take the evidence.
        KeyboardInterrupt: interrupted; the evidence says so.
    """
    try:
        asyncio.run(_collect(plan, arms, recorder, audit, cluster))
    except (LimitReached, PartDone) as reached:
        why = f"{reached.message} {left_undone(recorder.evidence())}"
        recorder.append(StopEntry(why=why, hint=reached.hint, limit=reached.option))
    except CouldNotTest as error:
        recorder.append(StopEntry(why=error.message, hint=error.hint))
    except KeyboardInterrupt:
        recorder.append(StopEntry(why="Interrupted by the user.", interrupted=True))
        raise
    else:
        recorder.append(SealEntry(records=len(recorder.entries)))


async def _collect(plan: Plan, arms: Arms, recorder: Recorder, audit: Audit, cluster: Executor | None) -> None:
    before = recorder.evidence()
    ledger, filters, listener = Ledger(before.limits, spent_in(before)), wanted_filters(plan), audit.listener
    try:
        for arm in plan.arms:
            counters = arms.scrapers if arm.role == "subject" else {}
            async with ledger.room_for(NOTHING if arm.endpoint is None else PROBING):
                engine = arms.engines[arm.role]
                ledger.book(await probe(arm, engine, counters, recorder, before, listener, filters, arms.pacer))
        tell_alike(arms.engines, recorder)
        if differ := prompts_differ(recorder.evidence()):
            raise CouldNotTest(differ, hint=SAME_PROMPTS)
        collector = _collector(plan, arms, recorder, audit, ledger, cluster)

        async def ask(stage: Stage) -> None:
            await collector.collect(stage)
            if audit.shard != WHOLE:
                wait_for_others(audit.shard, recorder.evidence(), stage)

        for last in list(before.stages.values())[-1:]:  # those before it had ended when it was planned
            settled = sum(before.is_settled(last.name, slot) for slot in range(last.size))
            listener(StageStarted(last, settled, before.limits))
            await ask(last)
        for check_id in plan.checks:
            check, settings = registry.get(check_id), registry.settings_of(plan.suite, check_id)
            while stage := check.next_stage(plan, settings, evidence := recorder.evidence()):
                if stage.name in evidence.stages:  # all answers are there already: it would never end
                    raise RuntimeError(f"the check {check_id} plans its stage {stage.name} a second time")
                recorder.append(StageEntry(stage=stage, digest=digest(stage)))
                if check.watched is not None:
                    listener(Earned(check_id, check.watched))
                listener(StageStarted(stage, limits=before.limits))
                await ask(stage)
    finally:
        await arms.close()


def _collector(
    plan: Plan, arms: Arms, recorder: Recorder, audit: Audit, ledger: Ledger, cluster: Executor | None
) -> "Collector | Scattered":
    """What carries out stages: this process, or a cluster's workers."""
    if cluster is not None:
        from specaudit.audit.scatter import Scattered

        return Scattered(audit, plan, recorder, cluster)
    return Collector(
        recorder,
        arms.engines,
        arms.scrapers,
        concurrency=plan.concurrency,
        listener=audit.listener,
        ledger=ledger,
        pacer=arms.pacer,
        shard=audit.shard,
    )
