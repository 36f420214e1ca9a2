"""Prompts with power: a fault of the verifier shows only where drafts are rejected.

Before the LAW checks some candidates are tried, a few short completions each. Those are asked at which most of the
drafted steps rejected a draft, and at which the next token is neither sure (nothing can be wrong) nor anybody's guess
(cells are ill filled). What was drawn for that enters no test: it has a stage of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.checks.paths import steps_of
from specaudit.checks.seeds import SEEDS, first_seed
from specaudit.checks.selfsame import is_self
from specaudit.checks.windows import block_windows
from specaudit.counters.acceptance import acceptance
from specaudit.model.completion import Response
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Prompt, Request, Sampling
from specaudit.prompts.choose import choose_prompts

STAGE = "LAW.prompts"

_DRAWS = 4
"""Completions of each candidate: one choice each, since engines tell the steps of such answers only."""

_TOKENS = 32
_PARTS: Mapping[Role, int] = {"subject": 3, "reference": 1}
_SEEDS_FROM_END = 4096
"""Of the seeds of the check that asks first: its last ones, in parts of which no LAW check uses so many."""

_MOST_OF_BUDGET = 0.05
"""Share of a token budget that trying candidates may take."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What trying a prompt showed."""

    prompt: Prompt
    rejecting: float | None
    """Share of the drafted steps that rejected a draft; None where that cannot be seen."""
    spread: float | None
    """From 0, the next token is sure, to 1, it is anybody's guess; None where nothing came back."""

    @property
    def power(self) -> float:
        """What the prompt is worth: unseen rejections are taken for equal at all of them."""
        spread = 0.5 if self.spread is None else self.spread
        return (1.0 if self.rejecting is None else self.rejecting) * 4 * spread * (1 - spread)


def prompts_for(plan: Plan, evidence: Evidence, count: int, seed: int) -> tuple[Prompt, ...]:
    """Return the prompts that a LAW check asks: the most powerful candidates, or where none were tried, any."""
    tried = candidates(evidence)
    if len(tried) < count:
        return choose_prompts(count, list(evidence.capabilities.values()), seed, plan.suite.prompts.sets)
    ranked = sorted(tried, key=lambda one: -one.power)
    return tuple(one.prompt for one in ranked[:count])


def trial_stage(plan: Plan, evidence: Evidence, check_id: str, sampling: Sampling) -> Stage | None:
    """Return the requests that try candidates, unless that was done or the suite has none.

    Args:
        plan: The header.
        evidence: What was collected so far.
        check_id: The check that asks first.
        sampling: Its parameters.
    """
    count = _affordable(plan)
    if STAGE in evidence.stages or not count or "subject" not in evidence.capabilities:
        return None
    arms = list(evidence.capabilities.values())
    prompts = choose_prompts(count, arms, plan.seed + 9, plan.suite.prompts.sets)
    reference = evidence.capabilities.get("reference")
    logprobs = None if reference is None or is_self(plan) else reference.logprobs or None

    def planned(role: Role, index: int, draw: int) -> PlannedRequest:
        return PlannedRequest(
            arm=role,
            prompt_index=index,
            request=Request(
                prompt=(),
                sampling=sampling,
                seed=first_seed(plan, check_id, role, _PARTS[role]) + SEEDS - _SEEDS_FROM_END + index * _DRAWS + draw,
                max_tokens=_TOKENS,
                logprobs=logprobs if role == "reference" else None,
            ),
        )

    blocks = tuple(
        (
            *(planned("subject", index, draw) for draw in range(_DRAWS)),
            *((planned("reference", index, 0),) if logprobs else ()),
        )
        for index in range(len(prompts))
    )
    return Stage(name=STAGE, blocks=blocks, prompts=prompts, scrape=evidence.capabilities["subject"].counters)


def candidates(evidence: Evidence) -> list[Candidate]:
    """Return what trying showed of each candidate, in the order in which they were tried; nothing where none was."""
    stage = evidence.stages.get(STAGE)
    if stage is None or not evidence.attempts(STAGE):
        return []
    answers: dict[int, list[Response]] = {index: [] for index in range(len(stage.prompts))}
    scored: dict[int, list[Response]] = {index: [] for index in range(len(stage.prompts))}
    for role, found in (("subject", answers), ("reference", scored)):
        for _, planned, response in evidence.answered(STAGE, "subject" if role == "subject" else "reference"):
            if response is not None:
                found[planned.prompt_index].append(response)
    counted = _counted(evidence)
    return [
        Candidate(
            prompt=prompt,
            rejecting=_rejecting(answers[index]) if _rejecting(answers[index]) is not None else counted.get(index),
            spread=_spread(answers[index], scored[index]),
        )
        for index, prompt in enumerate(stage.prompts)
    ]


def told(evidence: Evidence) -> tuple[str, ...]:
    """Say how prompts were chosen, a sentence fragment; nothing where they were not."""
    tried = candidates(evidence)
    if not tried:
        return ()
    seen = [one.rejecting for one in tried if one.rejecting is not None]
    if not seen:
        return (f"prompts were chosen among {len(tried)} by the spread of their tokens; rejections cannot be seen",)
    best = max(tried, key=lambda one: one.power)
    return (
        f"prompts were chosen among {len(tried)} for power: at the best of them {best.rejecting or 0.0:.0%} of the "
        f"drafted steps rejected a draft, on average {np.mean(seen):.0%}",
    )


def _affordable(plan: Plan) -> int:
    wanted, budget = plan.suite.prompts.candidates, plan.limits.token_budget
    if budget is None:
        return wanted
    return min(wanted, int(_MOST_OF_BUDGET * budget / ((_DRAWS + 1) * _TOKENS)))


def _rejecting(responses: Sequence[Response]) -> float | None:
    """The share of drafted steps that rejected, as answers tell their steps."""
    drafted = rejected = 0
    for response in responses:
        for place in range(len(response.completions)):
            steps = steps_of(response, place)
            if steps is None:
                return None
            drafted += sum(count > 0 for count in steps.drafted)
            rejected += sum(taken < count for count, taken in zip(steps.drafted, steps.accepted, strict=True))
    return rejected / drafted if drafted else None


def _counted(evidence: Evidence) -> dict[int, float]:
    """The same by candidate, as counters tell it of the block that asked it."""
    shares: dict[int, float] = {}
    for one in block_windows(evidence, STAGE):
        taken = None if one.window is None else acceptance([one.window], confidence=0.99)
        if taken is not None and taken.rejecting_steps is not None:
            shares[one.block - 1] = taken.rejecting_steps / taken.drafts
    return shares


def _spread(answers: Sequence[Response], scored: Sequence[Response]) -> float | None:
    """How open the next token is: the entropy that logprobs tell, or how often draws of one prompt differ."""
    entropies = [
        _entropy([logprob for _, logprob in position.top])
        for response in scored
        for completion in response.completions
        for position in completion.logprobs or ()
        if len(position.top) > 1
    ]
    if entropies:
        return float(np.mean(entropies))
    rows = [completion.tokens for response in answers for completion in response.completions if completion.tokens]
    if len(rows) < 2:
        return None
    width = min(map(len, rows))
    distinct = [(len({row[i] for row in rows}) - 1) / (len(rows) - 1) for i in range(width)]
    return float(np.mean(distinct))


def _entropy(logprobs: Sequence[float]) -> float:
    """Entropy of the most likely tokens, as a share of the largest that so many can have."""
    p = np.exp(np.array(logprobs))
    p /= p.sum()
    return float(-(p * np.log(np.maximum(p, 1e-300))).sum() / np.log(len(p)))
