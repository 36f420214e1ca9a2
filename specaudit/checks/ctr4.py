"""CTR4: what is billed against what arrived."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from specaudit.checks.commands import rerun
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.seeds import first_seed
from specaudit.checks.shares import decided, share
from specaudit.model.completion import Response
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict, Witness
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.power import detectable_share

_STAGE = "CTR4"


class BillingSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.CTR4]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of answers whose bill may not be that of their tokens."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    sampling: Sampling = msgspec.field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True)
class _Bill:
    """One answer's bill."""

    slot: int
    billed: int
    least: int
    """Tokens that arrived, and those that reasoning is said to have taken and was not shown."""
    most: int
    """With the tokens that end an answer, which engines bill and do not show."""


class Billing(Check[BillingSettings]):
    """CTR4 counters against what was emitted and billed.

    Requirement: a bill counts the tokens that were generated for the answer: those that arrived, one more for an
    answer that ended by itself, and hidden reasoning as far as it is itemised. Drafts that were rejected are no tokens.

    Null hypothesis: every bill is exact.

    Statistic: the share of answers whose bill is another, which a single answer decides. Violates when one is billed
    for more than arrived. A bill for less is told and excuses nobody; it is inconclusive. Conforms when the
    Clopper-Pearson upper bound of the share is below the tolerance.

    Assumptions: tokens are those that the engine reveals.

    Source: Clopper and Pearson 1934.

    Kills: rejected-tokens-billed. Spares: plain decoding, correct speculation.
    """

    id = "CTR4"
    title = "counters against what was emitted and billed"
    settings_type = BillingSettings

    def next_stage(self, plan: Plan, settings: BillingSettings, evidence: Evidence) -> Stage | None:
        """Ask for answers of one choice each."""
        subject = evidence.capabilities.get("subject")
        if subject is None or _STAGE in evidence.stages or _untold(evidence):
            return None
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 7)
        requests = tuple(
            PlannedRequest(
                arm="subject",
                prompt_index=index,
                request=Request(
                    prompt=(),
                    sampling=settings.sampling,
                    seed=first_seed(plan, self.id, "subject") + index,
                    max_tokens=settings.max_tokens,
                ),
            )
            for index in range(len(prompts))
        )
        return Stage(name=_STAGE, blocks=(requests,), prompts=prompts)

    def smallest_detectable(self, plan: Plan, settings: BillingSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of wrong bills of which at least one is met with 90 % probability."""
        if _STAGE not in evidence.stages:
            return None
        value = detectable_share(settings.prompts, 0.0, alpha=budget_of(plan, self.id).alpha, power=POWER)
        return Deviation(name="share of wrong bills", value=value)

    def judge(self, settings: BillingSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Hold each bill against the answer."""
        if reason := _untold(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        answered = evidence.answered(_STAGE, "subject") if _STAGE in evidence.stages else []
        bills = [bill for slot, _, response in answered if (bill := _bill(slot, response)) is not None]
        if not bills:
            return self.cannot_say(
                settings, Verdict.NOT_APPLICABLE, "No answer said how many tokens it is billed for (usage)."
            )
        over = [bill for bill in bills if bill.billed > bill.most]
        under = [bill for bill in bills if bill.billed < bill.least]
        wrong = len(over) + len(under)
        asked = sum(bool(evidence.attempts_at(_STAGE, slot)) for slot, _, _ in answered)
        effect = share(
            "share of wrong bills",
            wrong,
            len(bills),
            lost=asked - len(bills),
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        if over:
            verdict = Verdict.VIOLATES
            summary = f"{len(over)} of {len(bills)} answers are billed for more than arrived."
        elif under:
            verdict = Verdict.INCONCLUSIVE
            summary = f"{len(under)} of {len(bills)} answers are billed for less than arrived."
        else:
            verdict = decided(effect, settings.tolerance)
            summary = f"All of {len(bills)} bills are for the tokens that arrived."
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            alpha=budget.alpha,
            witness=_witness((over or under)[0]) if wrong else None,
            assumptions=("tokens are those that the engine reveals",),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )


def _untold(evidence: Evidence) -> str:
    """Say in a sentence why bills cannot be checked; nothing where they can."""
    subject = evidence.capabilities.get("subject")
    if subject is not None and subject.tokens in ("none", "retokenized"):
        return "The subject does not reveal its own tokens, so that there is nothing to hold its bills against."
    return ""


def _bill(slot: int, response: Response | None) -> _Bill | None:
    if response is None or response.completion_tokens is None:
        return None
    arrived = 0
    for completion in response.completions:
        if completion.tokens is None:
            return None
        arrived += len(completion.tokens)
    shown = sum(completion.reasoning_length or 0 for completion in response.completions)
    hidden = max(0, (response.reasoning_tokens or 0) - shown)
    ended = sum(completion.finish_reason != "length" for completion in response.completions)
    return _Bill(slot=slot, billed=response.completion_tokens, least=arrived + hidden, most=arrived + hidden + ended)


def _witness(bill: _Bill) -> Witness:
    return Witness(
        what=f"answer to request {bill.slot}",
        observed=float(bill.billed),
        expected=float(bill.least),
        unit="tokens billed and arrived",
    )
