"""CTR4: counters against what arrived and what is billed."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from specaudit.checks.bills import Bill, bill
from specaudit.checks.commands import rerun
from specaudit.checks.endings import STOPS, Endings, endings, stop_token, stops_stage
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.seeds import first_seed
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import answer_windows, block_windows
from specaudit.counters.answers import AnswerCounts, AnswerError, read_answer
from specaudit.counters.defects import defects_in
from specaudit.model.capabilities import Capabilities
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.power import detectable_share

_STAGE = "CTR4"

_STOPS_AT = "stop_token_ids"

_COUNTS_BEFORE_CUTTING = {
    "vllm": "vLLM counts before it cuts (vllm-project/vllm issue 56101)",
    "llama.cpp": "llama.cpp counts before it cuts (ggml-org/llama.cpp issue 28049)",
}
"""Engines of which it is public that they count as accepted what a stop then cuts off, by the names of capabilities."""

_LEAVE_OUT = "past_the_end = 1 under [checks.CTR4] of a suite leaves this out and checks bills all the same"


class BillingSettings(CheckSettings, frozen=True, kw_only=True):
    """What `[checks.CTR4]` of a suite may say."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of answers whose bill may not be that of their tokens."""
    past_the_end: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.25
    """Share of stopped answers for which tokens may be counted as accepted that were cut off; 1 does not ask."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    stops: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 64
    """Answers that are stopped, each in a window of its own."""
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    sampling: Sampling = msgspec.field(default_factory=Sampling)


class Billing(Check[BillingSettings]):
    """CTR4 counters against what was emitted and billed.

    Requirement: a bill counts the tokens that were generated for the answer: those that arrived, one more for an
    answer that ended by itself, and hidden reasoning as far as it is itemised. Drafts that were rejected are no tokens.
    What counts as accepted was emitted, and the answers and the metrics page count the same.

    Null hypothesis: every bill is exact, and no token counts as accepted that was cut off at a stop.

    Statistic: the share of answers whose bill is another, which a single answer decides. Violates when one is billed
    for more than arrived. A bill for less is told and excuses nobody; it is inconclusive. Conforms when the
    Clopper-Pearson upper bound of the share is below the tolerance.

    Where speculation is counted, on a metrics page or in the answers (vLLM's request metrics, SGLang's meta_info,
    llama.cpp's timings), it violates also when an answer's own counts contradict each other, when the page has more
    draft tokens than the answers, or when the Clopper-Pearson lower bound of a second share exceeds `past_the_end`:
    that of the stopped answers, each alone in its window, whose last step lost more than the one token that follows
    its accepted drafts. Engines that count before they cut (vLLM, llama.cpp) overstate acceptance so, the more the
    shorter the answers. To conform, this share's upper bound must be below `past_the_end`, and a stop must have fallen
    inside an accepted block.

    Assumptions: tokens are those that the engine reveals; no other client used the subject.

    Source: Clopper and Pearson 1934; vllm-project/vllm issue 56101; ggml-org/llama.cpp issue 28049.

    Kills: rejected-tokens-billed, count-past-stop, padded-drafts-counted, last-step-uncounted. Spares: plain decoding,
    correct speculation.
    """

    id = "CTR4"
    title = "counters against what was emitted and billed"
    settings_type = BillingSettings
    plans_from_answers = True
    optional_fields: ClassVar[Mapping[str, Any]] = {_STOPS_AT: (0,)}

    def next_stage(self, plan: Plan, settings: BillingSettings, evidence: Evidence) -> Stage | None:
        """Ask for answers of one choice each, then, where speculation is counted, for some that a stop ends."""
        subject = evidence.capabilities.get("subject")
        if subject is None or _untold(evidence):
            return None
        if _STAGE in evidence.stages:
            if not _looks_past_the_end(settings, subject) or _STOPS_AT in subject.refused or STOPS in evidence.stages:
                return None
            stop = stop_token(evidence, _STAGE)
            return (
                None
                if stop is None
                else stops_stage(
                    evidence,
                    stop,
                    answers=settings.stops,
                    sampling=settings.sampling,
                    seed=first_seed(plan, self.id, "subject", part=1),
                    max_tokens=settings.max_tokens,
                )
            )
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 7, plan.suite.prompts.sets)
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
        return Stage(name=_STAGE, blocks=(requests,), prompts=prompts, scrape=subject.counters)

    def smallest_detectable(self, plan: Plan, settings: BillingSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of wrong bills of which at least one is met with 90 % probability."""
        if _STAGE not in evidence.stages:
            return None
        value = detectable_share(settings.prompts, 0.0, alpha=budget_of(plan, self.id).alpha, power=POWER)
        return Deviation(name="share of wrong bills", value=value)

    def judge(self, settings: BillingSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Hold each bill, and what is counted, against the answers."""
        if reason := _untold(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        answered = evidence.answered(_STAGE, "subject") if _STAGE in evidence.stages else []
        bills = [found for slot, _, response in answered if (found := bill(slot, response)) is not None]
        if not bills:
            return self.cannot_say(
                settings, Verdict.NOT_APPLICABLE, "No answer said how many tokens it is billed for (usage)."
            )
        wrong = [one for one in bills if not one.least <= one.billed <= one.most]
        asked = sum(bool(evidence.attempts_at(_STAGE, slot)) for slot, _, _ in answered)
        effect = share(
            "share of wrong bills",
            len(wrong),
            len(bills),
            lost=asked - len(bills),
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        stopped = endings(evidence) if STOPS in evidence.stages else None
        past = _past_the_end(settings, stopped, budget) if stopped is not None and stopped.answers else None
        verdict, summary = _verdict(settings, evidence, bills, effect, stopped, past)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=past if past is not None and decided(past, settings.past_the_end) is Verdict.VIOLATES else effect,
            alpha=budget.alpha,
            measured={} if stopped is None else _figures(stopped),
            witness=max(wrong, key=lambda one: one.billed > one.most).witness if wrong else None,
            notes=tuple(_notes(settings, evidence, stopped)),
            assumptions=("tokens are those that the engine reveals", "no other client used the subject"),
            next_step=_next_step(evidence.plan, verdict, stopped, cannot_stop=_cannot_stop(settings, evidence)),
        )


def _next_step(plan: Plan, verdict: Verdict, stopped: Endings | None, *, cannot_stop: bool) -> str:
    if verdict is Verdict.CONFORMS:
        return ""
    if verdict is Verdict.INCONCLUSIVE and (cannot_stop or (stopped is not None and not stopped.answers)):
        return "Write past_the_end = 1 under [checks.CTR4] of a suite: the engine stops at no token id (stop_token_ids)"
    return rerun(plan, "CTR4")


def _verdict(
    settings: BillingSettings,
    evidence: Evidence,
    bills: list[Bill],
    effect: Effect,
    stopped: Endings | None,
    past: Effect | None,
) -> tuple[Verdict, str]:
    over, under = (sum(one.billed > one.most for one in bills), sum(one.billed < one.least for one in bills))
    if over:
        return Verdict.VIOLATES, f"{over} of {len(bills)} answers are billed for more than arrived."
    for wrong in (*_wrong_answers(evidence), *_wrong_beside_the_page(evidence)):
        return Verdict.VIOLATES, wrong
    ending = decided(past, settings.past_the_end) if past is not None else None
    if stopped is not None and ending is Verdict.VIOLATES:
        return Verdict.VIOLATES, (
            f"Tokens count as accepted that were cut off at a stop, in {stopped.beyond} of {stopped.answers} stopped "
            "answers: acceptance is overstated (counted-past-the-end)."
        )
    if under:
        return Verdict.INCONCLUSIVE, f"{under} of {len(bills)} answers are billed for less than arrived."
    said = f"All of {len(bills)} bills are for the tokens that arrived"
    if _cannot_stop(settings, evidence):
        return Verdict.INCONCLUSIVE, (
            f"{said}, but the engine stops at no token id ({_STOPS_AT}): whether tokens count as accepted that a stop "
            "cuts off was not looked at."
        )
    if stopped is None or decided(effect, settings.tolerance) is not Verdict.CONFORMS:
        return decided(effect, settings.tolerance), f"{said}."
    if not stopped.inside:
        return Verdict.INCONCLUSIVE, f"{said}, but no stop was seen to fall inside an accepted block."
    if ending is not Verdict.CONFORMS:
        return Verdict.INCONCLUSIVE, (
            f"{said}; in {stopped.beyond} of {stopped.answers} stopped answers tokens count as accepted that were cut "
            "off, too few to say more."
        )
    return Verdict.CONFORMS, f"{said}, and what counts as accepted was emitted."


def _wrong_answers(evidence: Evidence) -> Iterator[str]:
    """Say what is wrong with what answers count of themselves, a sentence for each stage that has such answers."""
    for stage in (_STAGE, STOPS):
        told = answer_windows(evidence, stage) if stage in evidence.stages else []
        wrong = [one for one in told if one.window is None or one.window.contradicts]
        if wrong:
            yield f"{len(wrong)} of {len(told)} answers count their own speculation wrongly: {wrong[0].reasons[0]}."


def _wrong_beside_the_page(evidence: Evidence) -> Iterator[str]:
    """Say what the metrics page counts otherwise than the answers do, a sentence."""
    if not evidence.capabilities["subject"].counters:
        return
    counts = [_counts(response.speculation) for _, _, response in evidence.answered(_STAGE, "subject") if response]
    told = [one for one in counts if one is not None]
    if len(told) < len(counts):
        return
    for one in block_windows(evidence, _STAGE):
        found = () if one.window is None else defects_in(one.window, told)
        yield from (f"{d.what[0].upper()}{d.what[1:]} ({d.name})." for d in found if d.name == "unheard-trimming")


def _counts(speculation: dict[str, object] | None) -> AnswerCounts | None:
    try:
        return None if speculation is None else read_answer(speculation)
    except AnswerError:
        return None


def _past_the_end(settings: BillingSettings, stopped: Endings, budget: Budget) -> Effect:
    return share(
        "share of stopped answers with tokens counted past their end",
        stopped.beyond,
        stopped.answers,
        alpha=budget.alpha,
        delta=budget.delta,
        tolerance=settings.past_the_end,
    )


def _figures(stopped: Endings) -> dict[str, float]:
    return {
        "stopped answers": float(stopped.answers),
        "stopped inside an accepted block": float(stopped.inside),
        "counted past their end": float(stopped.beyond),
        "tokens counted and cut off, at least": float(stopped.tokens),
    }


def _notes(settings: BillingSettings, evidence: Evidence, stopped: Endings | None) -> Iterator[str]:
    """Say how much was counted and cut off, and whether that is the engine's known way of counting."""
    beyond = stopped is not None and stopped.beyond > 0
    if stopped is not None and beyond:
        yield (
            f"{stopped.tokens:,} tokens at least count as accepted and were cut off at a stop, in {stopped.beyond} of "
            f"{stopped.answers} stopped answers: the verifier's length overstates what users get (counted-past-the-end)"
        )
    known = _COUNTS_BEFORE_CUTTING.get(evidence.capabilities["subject"].engine)
    if known and (beyond or _cannot_stop(settings, evidence)):
        yield f"{known}; {_LEAVE_OUT}"


def _looks_past_the_end(settings: BillingSettings, subject: Capabilities) -> bool:
    """Whether stopped answers are of interest: speculation is counted, and not whatever the share may be."""
    counted = (subject.counters or subject.counts_in_answers) and subject.draft_tokens != 0
    return counted and settings.past_the_end < 1


def _cannot_stop(settings: BillingSettings, evidence: Evidence) -> bool:
    subject = evidence.capabilities["subject"]
    return _looks_past_the_end(settings, subject) and _STOPS_AT in subject.refused


def _untold(evidence: Evidence) -> str:
    """Say in a sentence why bills cannot be checked; nothing where they can."""
    subject = evidence.capabilities.get("subject")
    if subject is not None and subject.tokens in ("none", "retokenized"):
        return "The subject does not reveal its own tokens, so that there is nothing to hold its bills against."
    return ""
