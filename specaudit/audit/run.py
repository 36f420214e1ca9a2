"""Run an audit: plan, probe, collect, judge."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from specaudit.audit.analyse import analyse
from specaudit.audit.collect import Collector
from specaudit.audit.events import Judging, Listener, Probed, StageStarted, silent
from specaudit.audit.plan import make_plan
from specaudit.audit.record import Recorder, read_evidence
from specaudit.checks import registry
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.engines.interface import Access, Engine, EngineFailure, Scraper
from specaudit.engines.metrics import MetricsAddress
from specaudit.engines.registry import build
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import LawEntry, PlanEntry, ProbeEntry, SealEntry, StageEntry, StopEntry
from specaudit.model.errors import CouldNotTest
from specaudit.model.evidence import Evidence
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm, Plan, Role
from specaudit.model.record import digest
from specaudit.model.report import Report
from specaudit.model.suite import Suite


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What to audit, how much, and where the evidence goes."""

    suite: Suite
    out: Path
    """A folder without evidence; made if need be."""
    engine: str | None = None
    """The subject where there is no endpoint: `reference` (the default), `mutant:NAME`."""
    draft_tokens: int | None = None
    """Drafts per step of a subject in process; 3 unless given."""
    endpoint: str | None = None
    reference: str | None = None
    metrics: str | None = None
    model: str | None = None
    select: tuple[str, ...] = ()
    """Run only these checks, and require each."""
    ignore: tuple[str, ...] = ()
    alpha: float | None = None
    """Error budget of the whole audit; the suite's unless given."""
    seed: int = 0
    concurrency: int | None = None
    """Requests in flight; the suite's unless given."""
    timeout: float = 120.0
    """Seconds without a byte before an answer is given up."""
    allow_inconclusive: bool = False
    api_key: str | None = field(default=None, repr=False)
    """Sent to the endpoint, and to other addresses of the same host only."""
    reference_api_key: str | None = field(default=None, repr=False)
    """Sent to the reference; needed where it is on another host and wants a key."""
    listener: Listener = silent


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
    with Recorder(audit.out) as recorder:
        recorder.append(PlanEntry(plan=plan, digest=digest(plan)))
        carry_out(plan, arms, recorder, audit.listener)
    audit.listener(Judging())
    return analyse(read_evidence(audit.out), allow_inconclusive=audit.allow_inconclusive)


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The engines of an audit, and where the subject's counters are read."""

    engines: Mapping[Role, Engine]
    scraper: Scraper | None

    async def close(self) -> None:
        """Release what the engines and the scraper hold."""
        for engine in self.engines.values():
            await engine.close()
        if isinstance(self.scraper, MetricsAddress):
            await self.scraper.close()


def connect(audit: Audit, plan: Plan) -> Arms:
    """Return the engines at the audit's addresses; nothing is sent yet.

    Raises:
        UsageError: there is no such engine, or an address is wrong.
    """
    engines: dict[Role, Engine] = {arm.role: _engine(arm, audit, plan) for arm in plan.arms}
    return Arms(engines=engines, scraper=_scraper(audit, plan, engines))


def carry_out(plan: Plan, arms: Arms, recorder: Recorder, listener: Listener) -> None:
    """Collect whatever the recorder does not hold of the plan yet, and record how that ended.

    Raises:
        CouldNotTest: the disk does not take the evidence.
        KeyboardInterrupt: interrupted; the evidence says so.
    """
    try:
        asyncio.run(_collect(plan, arms, recorder, listener))
    except CouldNotTest as error:
        recorder.append(StopEntry(why=error.message, hint=error.hint))
    except KeyboardInterrupt:
        recorder.append(StopEntry(why="Interrupted by the user.", interrupted=True))
        raise
    else:
        recorder.append(SealEntry(records=len(recorder.entries)))


async def _collect(plan: Plan, arms: Arms, recorder: Recorder, listener: Listener) -> None:
    before = recorder.evidence()
    try:
        for arm in plan.arms:
            counters = arms.scraper if arm.role == "subject" else None
            await _probe(arm, arms.engines[arm.role], counters, recorder, before, listener)
        collector = Collector(recorder, arms.engines, arms.scraper, concurrency=plan.concurrency, listener=listener)
        for last in list(before.stages.values())[-1:]:  # those before it had ended when it was planned
            settled = sum(before.is_settled(last.name, slot) for slot in range(len(last.slots())))
            listener(StageStarted(last, settled))
            await collector.collect(last)
        for check_id in plan.checks:
            check, settings = registry.get(check_id), registry.settings_of(plan.suite, check_id)
            while stage := check.next_stage(plan, settings, recorder.evidence()):
                recorder.append(StageEntry(stage=stage, digest=digest(stage)))
                listener(StageStarted(stage))
                await collector.collect(stage)
    finally:
        await arms.close()


def _engine(arm: Arm, audit: Audit, plan: Plan) -> Engine:
    """The engine at an arm's address as given; the recorded one has no user name, password or query."""
    address = audit.endpoint if arm.role == "subject" else audit.reference
    key = audit.reference_api_key if arm.role == "reference" else None
    return build(msgspec.structs.replace(arm, endpoint=address), _access(audit, plan, address, key))


def _access(audit: Audit, plan: Plan, address: str | None, key: str | None = None) -> Access:
    """How to reach an address: a key given for one host is never shown to another."""
    same_host = address is None or audit.endpoint is None or _host(address) == _host(audit.endpoint)
    key = key or (audit.api_key if same_host else None)
    return Access(api_key=key, timeout=audit.timeout, connections=plan.concurrency)


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _scraper(audit: Audit, plan: Plan, engines: Mapping[Role, Engine]) -> Scraper | None:
    """What the subject's counters are read from: the named page, or an engine in process itself."""
    if audit.metrics is not None:
        return MetricsAddress(audit.metrics, _access(audit, plan, audit.metrics))
    subject = engines["subject"]
    return subject if isinstance(subject, Scraper) else None


async def _probe(
    arm: Arm, engine: Engine, scraper: Scraper | None, recorder: Recorder, before: Evidence, listener: Listener
) -> None:
    """Probe an arm and record what was found; in a resumed audit it must be what was found before.

    Raises:
        CouldNotTest: it cannot be probed, or it is another engine by now: two would be judged as one.
    """
    probe = await engine.probe()
    capabilities, exchanges = probe.capabilities, probe.exchanges
    if scraper is not None:
        capabilities, said = await _with_counters(capabilities, scraper)
        exchanges += (said,)
    law = engine.law()
    if changed := _changed(arm.role, before, capabilities, law):
        raise CouldNotTest(
            f"The {arm.role} is no longer what it was when the audit began: {changed}.",
            hint="Bring it back as it was and resume again, or start a new audit",
        )
    recorder.append(ProbeEntry(role=arm.role, capabilities=capabilities, exchanges=exchanges))
    listener(Probed(arm, capabilities))
    if law is not None and arm.role not in before.laws:
        recorder.append(LawEntry(role=arm.role, law=law))


def _changed(role: Role, before: Evidence, capabilities: Capabilities, law: RevealedLaw | None) -> str:
    """What is not as it was found before; nothing where all is, or where nothing was found before."""
    if (known := before.capabilities.get(role)) is not None:
        for name in known.__struct_fields__:
            was, now = getattr(known, name), getattr(capabilities, name)
            if was != now:
                return f"its {name} was {was!r} and is {now!r}"
    return "its law has changed" if role in before.laws and law != before.laws[role] else ""


async def _with_counters(capabilities: Capabilities, scraper: Scraper) -> tuple[Capabilities, str]:
    """Add what the metrics page tells: whether speculation is counted, and how many drafts a step has."""
    try:
        page = await scraper.scrape()
    except EngineFailure as error:
        raise CouldNotTest(
            f"The metrics page cannot be read. {error.failure.message}", hint="specaudit run --metrics URL"
        ) from error
    try:
        reading = read_page(page.text, page.content_type)
    except PageError as error:
        return capabilities, f"metrics page: {error}"
    drafts = len(reading.accepted_per_position) or None
    found = msgspec.structs.replace(capabilities, counters=True, draft_tokens=drafts)
    return found, f"metrics page: speculation counters for {drafts} positions"
