"""SED1: the same seed twice."""

from typing import Annotated

import msgspec

from specaudit.checks.answers import compare, in_pairs
from specaudit.checks.commands import rerun
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.seeds import first_seed
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.power import detectable_share

_STAGE = "SED1"


class SeedSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.SED1]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of requests whose answer may change when the same is asked again."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    sampling: Sampling = msgspec.field(default_factory=Sampling)


class SameSeed(Check[SeedSettings]):
    """SED1 same seed, same tokens.

    Requirement: the same request with the same seed is answered with the same tokens, whatever is asked in between.

    Null hypothesis: a request's answer is a function of the request and its seed.

    Statistic: each prompt is asked twice with one seed, all of the first answers before any of the second; the share
    of prompts whose answers differ, with Clopper-Pearson bounds. Violates when its lower bound exceeds the tolerance:
    a few differences may be numeric noise of another batch. Conforms when its upper bound is below it.

    Assumptions: the server was as loaded both times; answers were not served from a cache.

    Source: Clopper and Pearson 1934.

    Kills: seed-ignored. Spares: plain decoding, correct speculation.
    """

    id = "SED1"
    title = "same seed, same tokens"
    settings_type = SeedSettings

    def next_stage(self, plan: Plan, settings: SeedSettings, evidence: Evidence) -> Stage | None:
        """Ask everything twice."""
        subject = evidence.capabilities.get("subject")
        if subject is None or _STAGE in evidence.stages or "seed" in subject.refused:
            return None
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 4)
        requests = [
            Request(
                prompt=(),
                sampling=settings.sampling,
                seed=first_seed(plan, self.id, "subject") + index,
                max_tokens=settings.max_tokens,
            )
            for index in range(len(prompts))
        ]
        return Stage(name=_STAGE, blocks=in_pairs(prompts, requests, requests), prompts=prompts)

    def smallest_detectable(self, plan: Plan, settings: SeedSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of answers that has to change to be seen above the tolerance with 90 % probability."""
        if _STAGE not in evidence.stages:
            return None
        value = detectable_share(
            settings.prompts, settings.tolerance, alpha=budget_of(plan, self.id).alpha, power=POWER
        )
        return Deviation(name="share of answers that changed", value=value)

    def judge(self, settings: SeedSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count the prompts whose two answers differ."""
        subject = evidence.capabilities.get("subject")
        if subject is not None and "seed" in subject.refused:
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, "The subject refuses requests with a seed.")
        if subject is not None and subject.repeats == "always":
            return self.cannot_say(
                settings, Verdict.NOT_APPLICABLE, "The subject answers from a cache, which repeats itself in any case."
            )
        found = compare(evidence, _STAGE) if _STAGE in evidence.stages else None
        if found is None or not found.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No prompt was answered twice.")
        effect = found.effect(
            "share of answers that changed", alpha=budget.alpha, delta=budget.delta, tolerance=settings.tolerance
        )
        summary = f"{found.different} of {found.pairs} requests were answered differently when asked again."
        verdict = Verdict.INCONCLUSIVE
        if effect.low is not None and effect.low > settings.tolerance:
            verdict, summary = Verdict.VIOLATES, f"The seed does not decide the answer: {summary}"
        elif effect.high is not None and effect.high < settings.tolerance:
            verdict = Verdict.CONFORMS
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            alpha=budget.alpha,
            witness=found.witness if found.different else None,
            assumptions=("the server was as loaded both times", "answers were not served from a cache"),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )
