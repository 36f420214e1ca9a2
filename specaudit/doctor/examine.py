"""The whole examination: probing, then behaviour, then what follows from it. Fewer than 200 requests."""

from dataclasses import dataclass, field

import msgspec

from specaudit.doctor.advice import advice, missing, switches
from specaudit.doctor.answers import probed_items
from specaudit.doctor.parameters import examine_parameters
from specaudit.doctor.patient import Patient
from specaudit.doctor.speculation import examine_counters, examine_speculation
from specaudit.doctor.supports import supports
from specaudit.doctor.vllm import PAGE, vllm_items
from specaudit.engines.addresses import public_address
from specaudit.engines.interface import Access
from specaudit.engines.metrics import MetricsAddress
from specaudit.engines.registry import IN_PROCESS, build, family_of
from specaudit.engines.server import ServerEngine
from specaudit.model.checkup import Checkup, Item
from specaudit.model.errors import UsageError
from specaudit.model.plan import Api, Arm
from specaudit.version import VERSION

MOST_REQUESTS = 200
"""An examination costs fewer."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which endpoint to examine, and how to reach it."""

    endpoint: str
    metrics: str | None = None
    engine: str = "auto"
    model: str | None = None
    api: Api = "completions"
    stream: bool = False
    tokenizer: str | None = None
    access: Access = field(default_factory=Access, repr=False)
    """For the endpoint."""
    metrics_access: Access = field(default_factory=Access, repr=False)


async def examine(asked: Asked) -> Checkup:
    """Examine an endpoint.

    Raises:
        UsageError: there is no such engine, or it is one in process.
        CouldNotTest: the endpoint cannot be reached, refuses the key, or answers nothing; or the metrics page cannot
            be read.
    """
    if family_of(asked.engine) in IN_PROCESS:
        raise UsageError(
            f"{asked.engine} runs in process, and an endpoint is examined.", hint="specaudit doctor --endpoint URL"
        )
    arm = Arm(
        role="subject",
        engine=asked.engine,
        endpoint=asked.endpoint,
        model=asked.model,
        api=asked.api,
        stream=asked.stream,
        tokenizer=asked.tokenizer,
    )
    scraper = None if asked.metrics is None else MetricsAddress(asked.metrics, asked.metrics_access)
    engine = build(arm, asked.access)
    if not isinstance(engine, ServerEngine):
        raise UsageError(f"{asked.engine} is no server.", hint="specaudit doctor --endpoint URL")
    try:
        return await _examined(engine, scraper, asked)
    finally:
        await engine.close()
        if scraper is not None:
            await scraper.close()


async def _examined(engine: ServerEngine, scraper: MetricsAddress | None, asked: Asked) -> Checkup:
    found = (await engine.probe()).capabilities
    patient = Patient(engine=engine, found=found, scraper=scraper)
    counters = await examine_counters(patient)
    speculation = await examine_speculation(patient)
    parameters = await examine_parameters(patient)
    known = found.engine != "openai"
    items: tuple[Item, ...] = (*probed_items(found, known=known), *speculation, *counters)
    if found.engine == "vllm":
        items += tuple(vllm_items(await engine.asker.page(PAGE)))
    counted = any(item.question == "Are there counters?" and item.state == "yes" for item in items)
    with_counters = msgspec.structs.replace(found, counters=counted)
    lacking = missing(found, items, parameters, metrics=asked.metrics is not None)
    endpoint = public_address(asked.endpoint)
    metrics = None if asked.metrics is None else public_address(asked.metrics)
    return Checkup(
        tool=VERSION,
        endpoint=endpoint,
        metrics=metrics,
        capabilities=found,
        known=known,
        items=items,
        parameters=parameters,
        checks=tuple(supports(with_counters, endpoint, metrics)),
        advice=advice(found, lacking),
        switches=switches(found),
        exchanges=tuple(engine.asker.exchanges),
        spent=engine.asker.spent,
    )
