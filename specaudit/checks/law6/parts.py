"""The comparisons of LAW6, each an audit of its own by LAW3, and the requests at temperature 0."""

from dataclasses import dataclass

import numpy as np

from specaudit.checks.interleaved import interleaved
from specaudit.checks.law3.check import LawByDepth
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.law6.settings import PrecisionSettings
from specaudit.checks.part import Part
from specaudit.checks.seeds import first_seed
from specaudit.checks.selfsame import is_self
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import GREEDY, Request, Token
from specaudit.prompts.choose import choose_prompts

CHECK = "LAW6"
GREEDY_STAGE = "LAW6.greedy"

PLANNED = 3


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One arm's tokens, held against the law of another."""

    name: str
    number: int
    arm: Role
    law_of: Role

    def part(self, settings: PrecisionSettings) -> Part:
        """Return it as an audit by LAW3."""
        names = DepthSettings.__struct_fields__
        return Part(
            owner=CHECK,
            number=self.number,
            planned=PLANNED,
            check=LawByDepth(),
            settings=DepthSettings(**{name: getattr(settings, name) for name in names}),
            arms={"subject": self.arm, "reference": self.law_of},
        )


TARGET = Comparison(name="subject against the plain reference", number=0, arm="subject", law_of="reference")
FULL = Comparison(name="subject against full precision", number=1, arm="subject", law_of="full-precision")
BETWEEN = Comparison(name="plain reference against full precision", number=2, arm="reference", law_of="full-precision")


def comparisons(plan: Plan) -> tuple[Comparison, ...]:
    """Return what is compared; an endpoint that is its own reference has no plain completions to compare."""
    return (TARGET, FULL) if is_self(plan) else (TARGET, FULL, BETWEEN)


def greedy_stage(plan: Plan, settings: PrecisionSettings, evidence: Evidence) -> Stage | None:
    """Ask subject and reference at temperature 0; None where that was asked, or the two are one."""
    if GREEDY_STAGE in evidence.stages or is_self(plan):
        return None
    roles: tuple[Role, ...] = ("subject", "reference")
    arms = [evidence.capabilities[role] for role in roles]
    if any(arm.temperature != "any" for arm in arms):
        return None
    prompts = choose_prompts(settings.greedy_prompts, arms, plan.seed + 11, plan.suite.prompts.sets)
    requests = tuple(
        PlannedRequest(
            arm=role,
            prompt_index=index,
            request=Request(
                prompt=(),
                sampling=GREEDY,
                seed=first_seed(plan, CHECK, role) + index,
                max_tokens=settings.greedy_tokens,
            ),
        )
        for index in range(len(prompts))
        for role in roles
    )
    block = interleaved(np.random.default_rng([plan.seed, 14]), requests, len(roles))
    return Stage(name=GREEDY_STAGE, blocks=(block,), prompts=prompts)


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Answers of subject and reference at temperature 0."""

    pairs: int
    different: int


def greedy_answers(evidence: Evidence) -> Greedy:
    """Count the prompts that both arms answered, and those to which they answered differently."""
    told: dict[Role, dict[int, tuple[Token, ...]]] = {"subject": {}, "reference": {}}
    for role, answers in told.items():
        for _, planned, response in evidence.answered(GREEDY_STAGE, role) if GREEDY_STAGE in evidence.stages else ():
            if response is not None and response.completions and response.completions[0].tokens is not None:
                answers[planned.prompt_index] = response.completions[0].tokens
    ours, theirs = told["subject"], told["reference"]
    both = ours.keys() & theirs.keys()
    return Greedy(pairs=len(both), different=sum(ours[prompt] != theirs[prompt] for prompt in both))
