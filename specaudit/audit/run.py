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
    engines: dict[Role, Engine] = {arm.role: _engine(arm, audit, plan) for arm in plan.arms}
    scraper = _scraper(audit, plan, engines)
    with Recorder(audit.out) as recorder:
        recorder.append(PlanEntry(plan=plan, digest=digest(plan)))
        try:
            asyncio.run(_collect(audit, plan, engines, scraper, recorder))
        except CouldNotTest as error:
            recorder.append(StopEntry(why=error.message, hint=error.hint))
        except KeyboardInterrupt:
            recorder.append(StopEntry(why="Interrupted by the user.", interrupted=True))
            raise
        else:
            recorder.append(SealEntry(records=len(recorder.entries)))
    audit.listener(Judging())
    return analyse(read_evidence(audit.out), allow_inconclusive=audit.allow_inconclusive)


async def _collect(
    audit: Audit, plan: Plan, engines: Mapping[Role, Engine], scraper: Scraper | None, recorder: Recorder
) -> None:
    try:
        for arm in plan.arms:
            counters = scraper if arm.role == "subject" else None
            await _probe(arm, engines[arm.role], counters, recorder, audit.listener)
        collector = Collector(recorder, engines, scraper, concurrency=plan.concurrency, listener=audit.listener)
        for check_id in plan.checks:
            check, settings = registry.get(check_id), registry.settings_of(plan.suite, check_id)
            while stage := check.next_stage(plan, settings, recorder.evidence()):
                recorder.append(StageEntry(stage=stage, digest=digest(stage)))
                audit.listener(StageStarted(stage))
                await collector.collect(stage)
    finally:
        for engine in engines.values():
            await engine.close()
        if isinstance(scraper, MetricsAddress):
            await scraper.close()


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


async def _probe(arm: Arm, engine: Engine, scraper: Scraper | None, recorder: Recorder, listener: Listener) -> None:
    probe = await engine.probe()
    capabilities, exchanges = probe.capabilities, probe.exchanges
    if scraper is not None:
        capabilities, said = await _with_counters(capabilities, scraper)
        exchanges += (said,)
    recorder.append(ProbeEntry(role=arm.role, capabilities=capabilities, exchanges=exchanges))
    listener(Probed(arm, capabilities))
    if (law := engine.law()) is not None:
        recorder.append(LawEntry(role=arm.role, law=law))


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
