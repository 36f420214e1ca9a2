"""LAW2: the support of the law, at its narrowest."""

from typing import Annotated

import msgspec

from specaudit.checks.answers import compare, in_pairs
from specaudit.checks.commands import rerun
from specaudit.checks.control import no_greedy_decoding
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.seeds import first_seed
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.model.request import GREEDY, Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.power import detectable_share

_STAGE = "LAW2"
_NARROWEST = Sampling(temperature=1.0, top_k=1)


class SupportSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.LAW2]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of prompts whose answers may differ."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32


class Support(Check[SupportSettings]):
    """LAW2 support.

    Requirement: nothing outside the processed nucleus is emitted. With top_k = 1 the nucleus is one token, the one that
    greedy decoding takes, so that one endpoint can be held against itself.

    Null hypothesis: sampling with top_k = 1 at temperature 1 emits what temperature 0 emits.

    Statistic: each prompt is asked in both ways; the share of prompts whose answers differ, with Clopper-Pearson
    bounds. Violates when its lower bound exceeds the tolerance: a few differences may be near ties that another batch
    decides otherwise. Conforms when its upper bound is below it.

    Assumptions: the server was as loaded both times. Faults that both ways share stay unseen.

    Source: Fan, Lewis, Dauphin 2018 (top-k sampling); Clopper and Pearson 1934.

    Kills: resample-next-row, inverted-ratio. Spares: plain decoding, correct speculation.
    """

    id = "LAW2"
    title = "support"
    settings_type = SupportSettings

    def next_stage(self, plan: Plan, settings: SupportSettings, evidence: Evidence) -> Stage | None:
        """Ask every prompt greedily, then with top_k = 1."""
        subject = evidence.capabilities.get("subject")
        if subject is None or _STAGE in evidence.stages or _why_not(evidence):
            return None
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 5)
        greedy, narrow = (
            [
                Request(
                    prompt=(),
                    sampling=sampling,
                    seed=first_seed(plan, self.id, "subject", part) + index,
                    max_tokens=settings.max_tokens,
                )
                for index in range(len(prompts))
            ]
            for part, sampling in enumerate((GREEDY, _NARROWEST))
        )
        return Stage(name=_STAGE, blocks=in_pairs(prompts, greedy, narrow), prompts=prompts)

    def smallest_detectable(self, plan: Plan, settings: SupportSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of answers that has to differ to be seen above the tolerance with 90 % probability."""
        if _STAGE not in evidence.stages:
            return None
        value = detectable_share(
            settings.prompts, settings.tolerance, alpha=budget_of(plan, self.id).alpha, power=POWER
        )
        return Deviation(name="share of differing answers", value=value)

    def judge(self, settings: SupportSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count the prompts whose two answers differ."""
        if reason := _why_not(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        found = compare(evidence, _STAGE) if _STAGE in evidence.stages else None
        if found is None or not found.pairs:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No prompt was answered in both ways.")
        effect = found.effect(
            "share of differing answers", alpha=budget.alpha, delta=budget.delta, tolerance=settings.tolerance
        )
        summary = f"With top_k = 1 {found.different} of {found.pairs} answers differ from greedy decoding."
        verdict = Verdict.INCONCLUSIVE
        if effect.low is not None and effect.low > settings.tolerance:
            verdict = Verdict.VIOLATES
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
            assumptions=("the server was as loaded both times", "faults that both ways share stay unseen"),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )


def _why_not(evidence: Evidence) -> str:
    """Say in a sentence why the subject cannot be asked in both ways; nothing where it can."""
    subject = evidence.capabilities.get("subject")
    if reason := no_greedy_decoding(evidence):
        return reason
    return "The subject refuses top_k." if subject is not None and "top_k" in subject.refused else ""
