"""What an audit will ask and cost, before anything is sent.

The checks plan as they do in a run. What they plan from is imagined: the capabilities of servers are assumed, and
where answers choose what is asked next, as the plain reference's do, the embedded decoder gives them.
"""

import asyncio
from collections.abc import Iterator
from typing import Literal

import msgspec

from specaudit.audit.audit import Audit
from specaudit.audit.budget import PROBING
from specaudit.audit.plan import make_plan
from specaudit.audit.probing import with_counters
from specaudit.checks import registry
from specaudit.engines import reference
from specaudit.engines.interface import Access, Engine, EngineFailure, Scraper
from specaudit.engines.reference import ReferenceEngine
from specaudit.engines.registry import build
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.entries import AnyEntry, AttemptEntry, LawEntry, PlanEntry, ProbeEntry, StageEntry
from specaudit.model.errors import UsageError
from specaudit.model.estimate import CheckEstimate, Estimate
from specaudit.model.evidence import Evidence
from specaudit.model.limits import NOTHING, Limits, Spending, at_most
from specaudit.model.plan import Arm, Plan, Stage
from specaudit.model.record import digest
from specaudit.model.request import Request

Level = Literal["exact", "scored", "sampled"]
LEVELS: tuple[Level, ...] = ("exact", "scored", "sampled")

SPEED = 1000.0
IN_PROCESS_SPEED = 10_000.0
"""Generated tokens a second, all requests together, unless another speed is stated."""

_BYTES_PER_TOKEN = 3
"""English text has four; a few less leave room for templates and special tokens."""

_CHOICES = 64
_LOGPROBS = 20
"""What most servers give."""

_AT_ONCE = 1024
"""Requests of a stage that are imagined in one batch."""

_A_MOMENT = 1e-9
"""Seconds before each imagined step, in which whatever else is asked joins the batch."""

_SCORES_NO_PROMPTS = ("tensorrt_llm",)
"""Engines that tell no logprobs of a prompt's own tokens; others that tell logprobs do, or are made to."""

_PLAIN = Arm(role="reference", engine="reference", draft_tokens=0)


def estimate(audit: Audit, *, level: Level | None = None, speed: float | None = None) -> Estimate:
    """Return what an audit will ask of a healthy engine.

    Args:
        audit: What would be run; nothing is sent, whatever addresses it names.
        level: How well the target's law is taken to be known at an endpoint; `scored` unless given.
        speed: Generated tokens a second, of all requests together.

    Raises:
        UsageError: the audit cannot be planned as asked, or the level does not fit it.
        CouldNotTest: nothing is selected.
    """
    plan = make_plan(audit)
    in_process = audit.endpoint is None
    speed = speed or (IN_PROCESS_SPEED if in_process else SPEED)
    if level is not None and (level == "exact") is not in_process:
        raise UsageError(
            "An engine in process reveals its law exactly, and a server never does.",
            hint=f"specaudit plan{'' if in_process else ' --endpoint URL --assume scored'}",
        )
    entries: list[AnyEntry] = [PlanEntry(plan=plan, digest=digest(plan))]
    if in_process:
        entries += [entry for arm in plan.arms for entry in asyncio.run(_probed(arm))]
    else:
        entries += [_assumed(arm, plan, level or "scored") for arm in plan.arms]
    with asyncio.Runner() as runner:
        checks = tuple(_of_checks(plan, entries, runner))
    probing = sum((PROBING for arm in plan.arms if arm.endpoint is not None), NOTHING)
    total = sum((check.spending for check in checks), probing)
    return Estimate(
        suite=plan.suite.name,
        arms=plan.arms,
        checks=checks,
        probing=probing,
        total=total,
        cost=plan.limits.cost(total),
        seconds=_seconds(total, plan.limits, speed),
        limits=plan.limits,
        exceeds=plan.limits.exceeded_by(total),
        assumptions=tuple(_assumptions(plan, in_process=in_process, level=level or "scored", speed=speed)),
    )


def _of_checks(plan: Plan, entries: list[AnyEntry], runner: asyncio.Runner) -> Iterator[CheckEstimate]:
    """Let each check plan its stages, imagining what was answered where that decides what comes next."""
    plain = plan.arm("reference")
    arm = plain if plain is not None and plain.engine == _PLAIN.engine else _PLAIN
    stand_in = ReferenceEngine(reference.build(arm, Access()).decoder, step_seconds=_A_MOMENT)
    exact = any(isinstance(entry, LawEntry) for entry in entries)
    for check_id in plan.checks:
        check, settings = registry.get(check_id), registry.settings_of(plan.suite, check_id)
        spending = NOTHING
        while stage := check.next_stage(plan, settings, Evidence(entries)):
            entries.append(StageEntry(stage=stage, digest=""))
            spending = sum((_likely(planned.request) for planned in stage.slots()), spending)
            asked = {planned.engine for planned in stage.slots()}
            if "subject" not in asked or (check.plans_from_answers and not exact):
                entries += runner.run(_answers(stand_in, stage))
        yield CheckEstimate(
            check=check_id,
            required=check_id in plan.required,
            spending=spending,
            smallest_detectable=check.smallest_detectable(plan, settings, Evidence(entries)),
        )


async def _answers(engine: Engine, stage: Stage) -> list[AttemptEntry]:
    """What the embedded decoder answers to a stage, in few batches; a request that it refuses has no answer."""

    async def answer(request: Request) -> Response | None:
        try:
            return await engine.complete(request)
        except EngineFailure:
            return None

    requests = [planned.request for planned in stage.slots()]
    responses: list[Response | None] = []
    for start in range(0, len(requests), _AT_ONCE):
        responses += await asyncio.gather(*map(answer, requests[start : start + _AT_ONCE]))
    return [
        AttemptEntry(stage=stage.name, slot=slot, number=1, started="", seconds=0.0, response=response)
        for slot, response in enumerate(responses)
        if response is not None
    ]


async def _probed(arm: Arm) -> list[AnyEntry]:
    """What an engine in process tells of itself; it is asked for nothing else."""
    engine = build(arm, Access())
    capabilities = (await engine.probe()).capabilities
    if arm.role == "subject" and isinstance(engine, Scraper):
        capabilities, _ = await with_counters(capabilities, {"": engine})
    law = engine.law()
    found: list[AnyEntry] = [ProbeEntry(role=arm.role, capabilities=capabilities)]
    return found if law is None else [*found, LawEntry(role=arm.role, law=law)]


def _assumed(arm: Arm, plan: Plan, level: Level) -> ProbeEntry:
    """What a server is taken to reveal."""
    scored = level == "scored"
    capabilities = Capabilities(
        engine="openai",
        model=arm.model,
        tokens="ids",
        token_prompts=scored and arm.api == "completions",
        max_choices=_CHOICES,
        logprobs=_LOGPROBS if scored else 0,
        logprobs_mode="raw" if scored else "unknown",
        scores_prompts=scored and _scores_prompts(arm),
        counters=arm.role == "subject" and plan.metrics is not None,
    )
    return ProbeEntry(role=arm.role, capabilities=capabilities)


def _scores_prompts(arm: Arm) -> bool:
    return arm.api == "completions" and arm.engine.partition(":")[0] not in _SCORES_NO_PROMPTS


def _likely(request: Request) -> Spending:
    """What a request will cost: every choice goes on to its cap; a text has its usual number of tokens."""
    most = at_most(request)
    if not isinstance(request.prompt, str):
        return most
    return msgspec.structs.replace(most, prompt_tokens=len(request.prompt.encode()) // _BYTES_PER_TOKEN + 1)


def _seconds(total: Spending, limits: Limits, speed: float) -> float:
    paced = (
        total.generated_tokens / speed,
        total.requests / limits.rpm * 60 if limits.rpm else 0.0,
        total.tokens / limits.tpm * 60 if limits.tpm else 0.0,
    )
    return max(paced)


def _assumptions(plan: Plan, *, in_process: bool, level: Level, speed: float) -> Iterator[str]:
    yield f"All requests together generate {speed:,.0f} tokens a second."
    yield "Every completion goes on to its cap, and no sample ends early by a deviation that is shown."
    if in_process:
        return
    yield f"A server returns token ids and up to {_CHOICES} choices, and drafts 3 tokens a step."
    yield f"A token of text is {_BYTES_PER_TOKEN} bytes long."
    if (plain := plan.arm("reference")) is None:
        return
    if level == "scored":
        also = ", of a prompt's tokens too" if _scores_prompts(plain) else ""
        told = f"{_LOGPROBS} logprobs a token{also}"
        yield f"The reference takes token ids as prompts and reports {told} (--assume scored)."
    else:
        yield "The reference reports no logprobs (--assume sampled)."
    yield "Its words are spread like those of the embedded decoder; a target that is less sure of itself needs more."
