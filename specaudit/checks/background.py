"""Sampled traffic beside the subject's requests: planned like these, recorded like these, and never judged."""

from collections.abc import Iterator
from datetime import datetime
from math import ceil

import msgspec
import numpy as np

from specaudit.checks.control import reachable
from specaudit.checks.seeds import PARTS, first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Request
from specaudit.model.suite import Background
from specaudit.prompts.choose import choose_prompts

_PROMPTS = 32
_PROMPT_SEED = 11


def no_traffic(plan: Plan) -> str:
    """Say why nothing runs beside the subject's requests, the end of a sentence; nothing where something does."""
    if plan.suite.background is None:
        return "the suite declares no background traffic"
    return "requests are made one at a time" if plan.concurrency == 1 else ""


def beside_traffic(stage: Stage, plan: Plan, evidence: Evidence, check_id: str) -> Stage:
    """Return a stage with sampled requests mixed among the subject's; `no_traffic` says whether there are any.

    All of them share the places in flight, in plan order. Some stand at the end of each block, so that the subject's
    last requests are not alone either. Their number, prompts, parameters, caps and seeds follow from the plan's seed.
    """
    wanted = plan.suite.background
    if wanted is None or no_traffic(plan):
        return stage
    traffic = _traffic(wanted, stage, plan, evidence, check_id)
    blocks = tuple(tuple(_mixed(block, traffic, wanted, plan.concurrency // 2)) for block in stage.blocks)
    prompts = stage.prompts + _prompts(plan, evidence) if stage.prompts else ()
    return msgspec.structs.replace(stage, blocks=blocks, prompts=prompts)


def accompanied(evidence: Evidence, stage: str) -> int:
    """Return how many answered requests of the subject had background traffic in flight beside them."""
    spans: dict[Role, list[tuple[float, float]]] = {"subject": [], "background": []}
    for slot, planned in enumerate(evidence.stages[stage].slots()):
        for attempt in evidence.attempts_at(stage, slot):
            if attempt.response is not None and attempt.started and planned.arm in spans:
                begun = datetime.fromisoformat(attempt.started).timestamp()
                spans[planned.arm].append((begun, begun + attempt.seconds))
    if not spans["subject"] or not spans["background"]:
        return 0
    own, others = np.array(spans["subject"]), np.array(spans["background"])
    beside = (own[:, None, 0] < others[None, :, 1]) & (others[None, :, 0] < own[:, None, 1])
    return int(beside.any(axis=1).sum())


def _prompts(plan: Plan, evidence: Evidence) -> tuple[tuple[int, ...] | str, ...]:
    return choose_prompts(_PROMPTS, [evidence.capabilities["subject"]], plan.seed + _PROMPT_SEED)


def _traffic(
    wanted: Background, stage: Stage, plan: Plan, evidence: Evidence, check_id: str
) -> Iterator[PlannedRequest]:
    """Requests without end."""
    prompts, seed = _prompts(plan, evidence), first_seed(plan, check_id, "background", PARTS - 1)
    rng = np.random.default_rng([plan.seed, _PROMPT_SEED])
    ways = [reachable(sampling, evidence) for sampling in wanted.sampling]
    low, high = wanted.max_tokens
    number = 0
    while True:
        place = int(rng.integers(len(prompts)))
        yield PlannedRequest(
            arm="background",
            prompt_index=len(stage.prompts) + place if stage.prompts else place,
            request=Request(
                prompt=() if stage.prompts else prompts[place],
                sampling=ways[number % len(ways)],
                seed=seed + number,
                max_tokens=int(rng.integers(low, high + 1)),
            ),
        )
        number += 1


def _mixed(
    block: tuple[PlannedRequest, ...], traffic: Iterator[PlannedRequest], wanted: Background, tail: int
) -> Iterator[PlannedRequest]:
    """The block, each request of the subject behind its share of traffic."""
    asked = given = 0
    for planned in block:
        if planned.engine == "subject":
            asked += 1
        for _ in range(ceil(asked * wanted.requests) - given):
            yield next(traffic)
            given += 1
        yield planned
    for _ in range(tail if asked else 0):
        yield next(traffic)
