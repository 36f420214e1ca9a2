"""The engines of an audit, as they are reached."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from specaudit.audit.audit import Audit
from specaudit.checks.selfsame import SELF
from specaudit.engines.addresses import same_origin
from specaudit.engines.interface import Access, Engine, Scraper
from specaudit.engines.metrics import MetricsAddress
from specaudit.engines.pace import Pacer
from specaudit.engines.registry import build
from specaudit.model.plan import Arm, Plan, Role


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


def connect(audit: Audit, plan: Plan) -> Arms:
    """Return the engines at the audit's addresses; nothing is sent yet.

    Raises:
        UsageError: there is no such engine, or an address is wrong.
    """
    pacer = Pacer(audit.limits)
    engines: dict[Role, Engine] = {arm.role: _engine(arm, audit, plan, pacer) for arm in plan.arms}
    return Arms(engines=engines, scrapers=_scrapers(audit, plan, engines), pacer=pacer)


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
