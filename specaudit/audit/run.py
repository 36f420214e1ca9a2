"""Run an audit: plan, probe, collect, judge."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from specaudit.audit.alike import retokenized, tell_alike
from specaudit.audit.analyse import analyse
from specaudit.audit.budget import PROBING, Ledger, LimitReached, spent_in
from specaudit.audit.collect import Collector
from specaudit.audit.events import Earned, Judging, Listener, Probed, StageStarted, silent
from specaudit.audit.filters import wanted_filters, with_refused_filters
from specaudit.audit.plan import make_plan
from specaudit.audit.record import Recorder, read_evidence
from specaudit.audit.shards import WHOLE, PartDone, Shard, wait_for_others
from specaudit.audit.undone import left_undone
from specaudit.checks import registry
from specaudit.checks.sameness import SAME_PROMPTS, prompts_differ
from specaudit.checks.selfsame import SELF
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.engines.addresses import same_origin
from specaudit.engines.interface import Access, Engine, EngineFailure, Scraper
from specaudit.engines.metrics import MetricsAddress
from specaudit.engines.pace import Pacer
from specaudit.engines.registry import build
from specaudit.executors import DaskExecutor, Executor
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import LawEntry, PlanEntry, ProbeEntry, SealEntry, StageEntry, StopEntry
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.law import RevealedLaw
from specaudit.model.limits import NOTHING, UNLIMITED, Limits, Spending
from specaudit.model.plan import Api, Arm, Plan, Role, Speculation, Stage
from specaudit.model.record import digest
from specaudit.model.report import Report
from specaudit.model.request import Request
from specaudit.model.segments import Segment
from specaudit.model.suite import Suite

if TYPE_CHECKING:
    from specaudit.audit.scatter import Scattered


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What to audit, how much, and where the evidence goes."""

    suite: Suite
    out: Path
    """A folder without evidence; made if need be."""
    engine: str | None = None
    """The subject where there is no endpoint: `reference` (the default), `mutant:NAME`."""
    world: str | None = None
    """What the embedded decoder decodes; the world in which the engine is at home unless given."""
    draft_tokens: int | None = None
    """Drafts per step of a subject in process; 3 unless given."""
    target: str | None = None
    """Folder of the model that a subject in process loads; plain decoding of it is the reference."""
    draft: str | None = None
    """Folder of its draft model."""
    speculation: Speculation | None = None
    """Where its drafts come from; from the draft model if there is one, unless given."""
    endpoint: str | None = None
    reference: str | None = None
    """The same target without speculation; `self` asks the endpoint for first tokens, which are never drafted."""
    full_precision: str | None = None
    """The target before it was quantised, served plainly; in process the world that it decodes."""
    metrics: str | tuple[str, ...] | None = None
    """The subject's metrics page, or the pages of all its replicas."""
    model: str | None = None
    api: Api | None = None
    """Which interface of the endpoint and the reference is asked; `completions` unless given."""
    stream: bool | None = None
    """Ask for answers as streams."""
    tokenizer: str | None = None
    """Path of a tokenizer for endpoints that tell text and no tokens."""
    segment: Segment | None = None
    """The part of completions that is judged; all of them unless given."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers, as secret as the key and sent where it is sent."""
    ca_file: Path | None = None
    """Certificates, in PEM, of the authorities to trust in place of the usual ones."""
    select: tuple[str, ...] = ()
    """Run only these checks, and require each."""
    ignore: tuple[str, ...] = ()
    fixed_n: bool | None = None
    """Collect whole samples and test once; checks stop early unless given."""
    alpha: float | None = None
    """Error budget of the whole audit; the suite's unless given."""
    seed: int = 0
    concurrency: int | None = None
    """Requests in flight; the suite's unless given."""
    limits: Limits = UNLIMITED
    """What the audit may cost, and how fast it may ask."""
    scheduler: str | None = None
    """A Dask cluster whose workers ask the requests, each a shard of every stage."""
    shard: Shard = WHOLE
    """The part that is asked here; others ask theirs elsewhere, and the parts are merged."""
    timeout: float = 120.0
    """Seconds without a byte before an answer is given up."""
    allow_inconclusive: bool = False
    api_key: str | None = field(default=None, repr=False)
    """Sent to the endpoint, and to other addresses with the same scheme, host and port only."""
    reference_api_key: str | None = field(default=None, repr=False)
    """Sent to the reference; needed where it is elsewhere and wants a key."""
    full_precision_api_key: str | None = field(default=None, repr=False)
    """Likewise for the arm in full precision."""
    listener: Listener = silent

    @property
    def pages(self) -> tuple[str, ...]:
        """The subject's metrics pages."""
        return (self.metrics,) if isinstance(self.metrics, str) else self.metrics or ()


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


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The engines of an audit, and where the subject's counters are read."""

    engines: Mapping[Role, Engine]
    scrapers: Mapping[str, Scraper]
    """By what the plan calls the page."""
    pacer: Pacer
    """Of all of them together."""

    async def close(self) -> None:
        """Release what the engines and the scraper hold."""
        for engine in self.engines.values():
            await engine.close()
        for scraper in self.scrapers.values():
            if isinstance(scraper, MetricsAddress):
                await scraper.close()


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


def connect(audit: Audit, plan: Plan) -> Arms:
    """Return the engines at the audit's addresses; nothing is sent yet.

    Raises:
        UsageError: there is no such engine, or an address is wrong.
    """
    pacer = Pacer(audit.limits)
    engines: dict[Role, Engine] = {arm.role: _engine(arm, audit, plan, pacer) for arm in plan.arms}
    return Arms(engines=engines, scrapers=_scrapers(audit, plan, engines), pacer=pacer)


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
                ledger.book(await _probe(arm, engine, counters, recorder, before, listener, filters, arms.pacer))
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
            while stage := check.next_stage(plan, settings, recorder.evidence()):
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


def _engine(arm: Arm, audit: Audit, plan: Plan, pacer: Pacer) -> Engine:
    """The engine at an arm's address as given; the recorded one has no user name, password or query."""
    itself = arm.role == "subject" or (arm.role == "reference" and audit.reference == SELF)
    given = {
        "reference": (audit.reference, audit.reference_api_key),
        "full-precision": (audit.full_precision, audit.full_precision_api_key),
    }
    address, key = (audit.endpoint, None) if itself or arm.endpoint is None else given[arm.role]
    access = replace(_access(audit, plan, address, key), pacer=pacer)
    return build(msgspec.structs.replace(arm, endpoint=address), access)


def _access(audit: Audit, plan: Plan, address: str | None, key: str | None = None) -> Access:
    """How to reach an address: what is meant for one origin is never shown to another."""
    shared = address is None or audit.endpoint is None or same_origin(address, audit.endpoint)
    return Access(
        api_key=key or (audit.api_key if shared else None),
        headers=audit.headers if shared else {},
        ca_file=audit.ca_file,
        timeout=audit.timeout,
        connections=plan.concurrency,
    )


def _scrapers(audit: Audit, plan: Plan, engines: Mapping[Role, Engine]) -> dict[str, Scraper]:
    """What the subject's counters are read from: the named pages, or an engine in process itself."""
    if audit.pages:
        pages = (MetricsAddress(url, _access(audit, plan, url)) for url in audit.pages)
        return dict(zip(plan.pages, pages, strict=True))
    subject = engines["subject"]
    return {"": subject} if isinstance(subject, Scraper) else {}


async def _probe(
    arm: Arm,
    engine: Engine,
    scrapers: Mapping[str, Scraper],
    recorder: Recorder,
    before: Evidence,
    listener: Listener,
    filters: Mapping[str, Request],
    pacer: Pacer,
) -> Spending:
    """Probe an arm and record what was found, which in a resumed audit must be what was found before; return its cost.

    Raises:
        CouldNotTest: it cannot be probed, or it is another engine by now: two would be judged as one.
    """
    probe = await engine.probe()
    if arm.endpoint is not None:
        probe = await with_refused_filters(engine, probe, filters, pacer)
    capabilities, exchanges = probe.capabilities, probe.exchanges
    if scrapers:
        capabilities, said = await with_counters(capabilities, scrapers)
        exchanges += said
    law = engine.law()
    if changed := _changed(arm.role, before, capabilities, law):
        raise CouldNotTest(
            f"The {arm.role} is no longer what it was when the audit began: {changed}.",
            hint="Bring it back as it was and resume again, or start a new audit",
        )
    recorder.append(ProbeEntry(role=arm.role, capabilities=capabilities, exchanges=exchanges, spent=probe.spent))
    listener(Probed(arm, capabilities))
    if law is not None and arm.role not in before.laws:
        recorder.append(LawEntry(role=arm.role, law=law))
    return probe.spent


def _changed(role: Role, before: Evidence, capabilities: Capabilities, law: RevealedLaw | None) -> str:
    """What is not as it was found before; nothing where all is, or where nothing was found before."""
    if (known := before.capabilities.get(role)) is not None:
        if known.tokens == "retokenized":
            known, capabilities = retokenized(known), retokenized(capabilities)
        for name in known.__struct_fields__:
            if name == "counts_in_answers":  # an answer for which nothing was drafted may not tell
                continue
            was, now = getattr(known, name), getattr(capabilities, name)
            if was != now:
                return f"its {name} was {was!r} and is {now!r}"
    return "its law has changed" if role in before.laws and law != before.laws[role] else ""


async def with_counters(
    capabilities: Capabilities, scrapers: Mapping[str, Scraper]
) -> tuple[Capabilities, tuple[str, ...]]:
    """Add what the metrics pages tell: whether all count speculation, and how many drafts a step has.

    Raises:
        CouldNotTest: there is no page at an address.
    """
    limits: list[int] = []
    said: list[str] = []
    for source, scraper in scrapers.items():
        where = f"metrics page of {source}" if source else "metrics page"
        try:
            page = await scraper.scrape()
            readings = read_page(page.text, page.content_type)
        except EngineFailure as error:
            raise CouldNotTest(
                f"The metrics page cannot be read. {error.failure.message}", hint="specaudit run --metrics URL"
            ) from error
        except PageError as error:
            said.append(f"{where}: {error}")
            continue
        if unfit := readings[0].unfit:
            said.append(f"{where}: {unfit[0]}")
            continue
        limits.append(max(reading.draft_limit for reading in readings))
        said.append(f"{where}: speculation counters for {limits[-1] or None} positions")
    if len(limits) < len(scrapers):
        return capabilities, tuple(said)
    return msgspec.structs.replace(capabilities, counters=True, draft_tokens=max(limits) or None), tuple(said)
