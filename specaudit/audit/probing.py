"""What an arm reveals when it is first asked, or asked again when an audit goes on."""

from collections.abc import Mapping

import msgspec

from specaudit.audit.alike import retokenized
from specaudit.audit.events import Listener, Probed
from specaudit.audit.filters import with_refused_filters
from specaudit.audit.record import Recorder
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.engines.interface import Engine, EngineFailure, Scraper
from specaudit.engines.pace import Pacer
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import LawEntry, ProbeEntry
from specaudit.model.errors import CouldNotTest
from specaudit.model.evidence import Evidence
from specaudit.model.law import RevealedLaw
from specaudit.model.limits import Spending
from specaudit.model.plan import Arm, Role
from specaudit.model.request import Request


async def probe(
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
    found = await engine.probe()
    if arm.endpoint is not None:
        found = await with_refused_filters(engine, found, filters, pacer)
    capabilities, exchanges = found.capabilities, found.exchanges
    if scrapers:
        capabilities, said = await with_counters(capabilities, scrapers)
        exchanges += said
    law = engine.law()
    if changed := _changed(arm.role, before, capabilities, law):
        raise CouldNotTest(
            f"The {arm.role} is no longer what it was when the audit began: {changed}.",
            hint="Bring it back as it was and resume again, or start a new audit",
        )
    recorder.append(ProbeEntry(role=arm.role, capabilities=capabilities, exchanges=exchanges, spent=found.spent))
    listener(Probed(arm, capabilities))
    if law is not None and arm.role not in before.laws:
        recorder.append(LawEntry(role=arm.role, law=law))
    return found.spent


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
