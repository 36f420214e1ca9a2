"""A check that asks everything in two ways which must be answered alike; it needs one endpoint only."""

from abc import abstractmethod
from typing import Annotated, ClassVar, TypeVar

import msgspec

from specaudit.checks.answers import compare, in_pairs
from specaudit.checks.commands import rerun
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.shares import decided, share
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.model.request import Request
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.power import detectable_share


class PairedSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings that every such check has."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of prompts whose two answers may differ."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32


P = TypeVar("P", bound=PairedSettings)


class PairedCheck(Check[P]):
    """Asks every prompt in two ways, in one block each, and counts the answers that differ."""

    share_of: ClassVar[str]
    """What is counted, e.g. `share of answers that changed`."""
    assumptions: ClassVar[tuple[str, ...]]
    prompt_seed: ClassVar[int]
    """Added to the plan's seed, so that checks have prompts of their own."""

    @abstractmethod
    def why_not(self, evidence: Evidence) -> str:
        """Say in a sentence why the subject cannot be asked in both ways; nothing where it can."""

    @abstractmethod
    def requests(self, plan: Plan, settings: P, count: int) -> tuple[list[Request], list[Request]]:
        """Return the requests for `count` prompts in either way, without the prompts."""

    @abstractmethod
    def told(self, different: int, pairs: int, verdict: Verdict) -> str:
        """Say in a sentence what was found."""

    def next_stage(self, plan: Plan, settings: P, evidence: Evidence) -> Stage | None:
        """Ask every prompt in one way, then in the other."""
        subject = evidence.capabilities.get("subject")
        if subject is None or self.id in evidence.stages or self.why_not(evidence):
            return None
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + self.prompt_seed, plan.suite.prompts.sets)
        blocks = in_pairs(prompts, *self.requests(plan, settings, len(prompts)))
        return Stage(name=self.id, blocks=blocks, prompts=prompts)

    def smallest_detectable(self, plan: Plan, settings: P, evidence: Evidence) -> Deviation | None:
        """Return the share that is seen above the tolerance with 90 % probability."""
        if self.id not in evidence.stages:
            return None
        alpha = budget_of(plan, self.id).alpha
        value = detectable_share(settings.prompts, settings.tolerance, alpha=alpha, power=POWER)
        return Deviation(name=self.share_of, value=value)

    def judge(self, settings: P, evidence: Evidence, budget: Budget) -> Finding:
        """Count the prompts whose two answers differ."""
        if reason := self.why_not(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        found = compare(evidence, self.id) if self.id in evidence.stages else None
        if found is None or not found.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No prompt was answered both times.")
        tolerance = settings.tolerance
        effect = share(
            self.share_of,
            found.different,
            found.pairs,
            lost=found.lost,
            alpha=budget.alpha,
            delta=budget.delta,
            tolerance=tolerance,
        )
        verdict = decided(effect, tolerance)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=self.told(found.different, found.pairs, verdict),
            effect=effect,
            alpha=budget.alpha,
            witness=found.witness,
            assumptions=self.assumptions,
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )
