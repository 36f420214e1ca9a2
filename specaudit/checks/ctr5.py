"""CTR5: speculation is really on: drafts are made, only real ones are counted, and the target judges them."""

from collections import defaultdict
from dataclasses import dataclass
from math import floor, log, log1p
from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.commands import rerun
from specaudit.checks.control import no_greedy_decoding, only_copies
from specaudit.checks.ctr_traffic import ANSWERS, STAGE, TrafficSettings
from specaudit.checks.interface import Budget, Check
from specaudit.checks.seeds import first_seed
from specaudit.checks.shares import share
from specaudit.checks.windows import counted_windows, reconciles
from specaudit.counters.window import Window
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import GREEDY, Request
from specaudit.prompts.choose import choose_prompts

SHORT = "CTR5.short"
REPEATS = "CTR5.repeats"

_LEARNING = 2
"""First repeats that are not compared: a drafter that learns from earlier answers has learned them by then."""


class SpeculationSettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CTR5."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    """Share of prompts for which a greedy request may be accepted otherwise when it is asked again."""
    prompts: Annotated[int, msgspec.Meta(ge=8, le=200)] = 24
    repeats: Annotated[int, msgspec.Meta(ge=4, le=20)] = 5
    repeated_tokens: Annotated[int, msgspec.Meta(ge=16)] = 48


class SpeculationOn(Check[SpeculationSettings]):
    """CTR5 speculation is really on.

    Requirement: tokens are drafted, what counts as drafted was, and the target decides what is accepted.

    Method: three kinds of windows. In those of the family something must be drafted, or speculation is configured and
    silently off. Answers of one token come from prefill, so that drafts counted in them are placeholders. A greedy
    request that is asked again, alone, is drafted and accepted as before, also by engines whose numerics differ from
    batch to batch; a coin that is tossed for every draft, whatever the target says, comes out otherwise. Where no page
    counts speculation and the answers count their own (vLLM's request metrics, SGLang's meta_info, llama.cpp's
    timings), every answer is a window.

    Null hypothesis: at most the tolerated share of prompts is accepted otherwise when asked again.

    Statistic: that share, with Clopper-Pearson bounds, of prompts whose drafts and accepted tokens are not the same in
    all repeats but the first two. Violates when its lower bound exceeds the tolerance, when nothing is drafted, or
    when answers of one token count as drafted. Conforms when its upper bound is below the tolerance and neither of the
    others was seen.

    Assumptions: the drafter proposes its likeliest tokens at temperature 0; no other client used the subject; a coin
    that always lands on one side is not seen.

    Source: Clopper and Pearson 1934; vLLM, rejection_sample_method `synthetic`.

    Kills: spec-silently-off, padded-drafts-counted, synthetic-acceptance. Spares: drafters that learn, drafts of any
    length.
    """

    id = "CTR5"
    title = "speculation is really on"
    settings_type = SpeculationSettings

    def next_stage(self, plan: Plan, settings: SpeculationSettings, evidence: Evidence) -> Stage | None:
        """Make the family's windows, then those of single tokens, then those of repeated greedy requests."""
        if (stage := ctr_traffic.next_stage(plan, self.id, settings, evidence, by_answers=True)) is not None:
            return stage
        subject = evidence.capabilities.get("subject")
        if subject is None or not (subject.counters or subject.counts_in_answers):
            return None
        prompts = choose_prompts(settings.prompts, [subject], plan.seed + 7, plan.suite.prompts.sets)
        if SHORT not in evidence.stages:
            seed = first_seed(plan, self.id, "subject", part=1)
            single = Request(prompt=(), sampling=settings.sampling, seed=seed, max_tokens=1)
            block = tuple(_asked(single, index, index) for index in range(len(prompts)))
            return Stage(name=SHORT, blocks=(block,), scrape=subject.counters, prompts=prompts)
        if REPEATS in evidence.stages or _cannot_repeat(evidence):
            return None
        seed = first_seed(plan, self.id, "subject", part=2)
        greedy = Request(prompt=(), sampling=GREEDY, seed=seed, max_tokens=settings.repeated_tokens)
        places = [(repeat, index) for repeat in range(settings.repeats) for index in range(len(prompts))]
        blocks = tuple((_asked(greedy, index, slot),) for slot, (_, index) in enumerate(places))
        return Stage(name=REPEATS, blocks=blocks, scrape=subject.counters, prompts=prompts)

    def judge(self, settings: SpeculationSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Look for silence, for placeholders, and for coins."""
        if ctr_traffic.made(evidence) is None:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        stages = [stage for stage in (STAGE, ANSWERS, REPEATS) if stage in evidence.stages]
        drafting = [w for stage in stages for w in _usable(evidence, stage)]
        if not drafting:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "No window of counters can be used.", rerun(evidence.plan, "CTR1")
            )
        short = _usable(evidence, SHORT) if SHORT in evidence.stages else []
        repeated = _repeated(evidence) if REPEATS in evidence.stages else _Repeated(prompts=0, different=0)
        effect = repeated.effect(settings, budget) if repeated.prompts else None
        drafts, padded = (int(sum(map(_drafted, windows))) for windows in (drafting, short))
        verdict, summary = _verdict(settings, evidence, budget, drafting, short, repeated, effect)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            alpha=budget.alpha,
            measured={
                "drafted steps": float(drafts),
                "emitted tokens": float(sum(w.generation_tokens or 0 for w in drafting)),
                "drafted steps in answers of one token": float(padded),
                "prompts repeated": float(repeated.prompts),
                "prompts accepted otherwise": float(repeated.different),
            },
            assumptions=(
                "the drafter proposes its likeliest tokens at temperature 0",
                "no other client used the subject",
                "a coin that always lands on one side is not seen",
            ),
            next_step="" if verdict is Verdict.CONFORMS else "specaudit explain CTR5",
        )


@dataclass(frozen=True, kw_only=True)
class _Repeated:
    """Prompts that were asked again and again, and those of them that were accepted otherwise."""

    prompts: int
    different: int

    def effect(self, settings: SpeculationSettings, budget: Budget) -> Effect:
        return share(
            "share of prompts accepted otherwise when asked again",
            self.different,
            self.prompts,
            alpha=budget.alpha,
            delta=budget.delta,
            tolerance=settings.tolerance,
        )


def _asked(request: Request, index: int, offset: int) -> PlannedRequest:
    seeded = msgspec.structs.replace(request, seed=request.seed + offset)
    return PlannedRequest(arm="subject", prompt_index=index, request=seeded)


def _cannot_repeat(evidence: Evidence) -> str:
    return no_greedy_decoding(evidence) or only_copies(evidence)


def _usable(evidence: Evidence, stage: str) -> list[Window]:
    """Windows that measure what happened, be it that nothing was drafted."""
    windows = (w.window for w in counted_windows(evidence, stage, min_drafts=0) if reconciles(w))
    return [window for window in windows if window is not None]


def _drafted(window: Window) -> float:
    """Drafted steps of a window, or its draft tokens where the engine does not count steps."""
    return (window.draft_tokens if window.drafts is None else window.drafts) or 0


def _repeated(evidence: Evidence) -> _Repeated:
    """Compare what was drafted and accepted for each prompt in all repeats but the first two."""
    slots = evidence.stages[REPEATS].slots()
    learned = _LEARNING * len({slot.prompt_index for slot in slots})
    blocks: dict[int, list[Window]] = defaultdict(list)
    for w in counted_windows(evidence, REPEATS, min_drafts=0):
        if reconciles(w) and w.window is not None and w.block > learned:
            blocks[w.block].append(w.window)  # one of each replica, of which any may have answered
    outcomes: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for block, windows in blocks.items():
        took = sum(map(_drafted, windows)), sum(w.accepted or 0 for w in windows)
        outcomes[slots[block - 1].prompt_index].append(took)
    compared = [set(found) for found in outcomes.values() if len(found) > 1]
    return _Repeated(prompts=len(compared), different=sum(len(found) > 1 for found in compared))


def _too_few(repeated: _Repeated, settings: SpeculationSettings, budget: Budget) -> str:
    """Say how many prompts would have been enough, had all of them been accepted alike."""
    least = floor(log(budget.delta) / log1p(-settings.tolerance)) + 1
    return (
        f"Too few greedy requests could be compared with themselves: of {repeated.prompts} prompts "
        f"{repeated.different} were accepted otherwise when asked again, and at least {least} without any are needed."
    )


def _verdict(
    settings: SpeculationSettings,
    evidence: Evidence,
    budget: Budget,
    drafting: list[Window],
    short: list[Window],
    repeated: _Repeated,
    effect: Effect | None,
) -> tuple[Verdict, str]:
    drafts, padded = (sum(map(_drafted, windows)) for windows in (drafting, short))
    emitted = sum(w.generation_tokens or 0 for w in drafting)
    if not drafts:
        return Verdict.VIOLATES, f"Speculation is off in silence: nothing was drafted in {emitted:,.0f} tokens."
    if padded:
        answers = sum(w.sequences or 0 for w in short)
        return Verdict.VIOLATES, (
            f"Placeholders count as drafts: {padded:,.0f} drafted steps in {answers:,.0f} answers of one token, which "
            "comes from prefill (padded-drafts)."
        )
    if effect is not None and effect.low is not None and effect.low > settings.tolerance:
        return Verdict.VIOLATES, (
            f"What is accepted is left to chance: {effect.value:.0%} of the greedy requests were drafted and accepted "
            "otherwise when asked again (synthetic-acceptance)."
        )
    on = f"{drafts:,.0f} steps of {emitted:,.0f} tokens were drafted"
    if not short:
        return Verdict.INCONCLUSIVE, f"{on}, but no window of single tokens can be used."
    if effect is None or effect.high is None or effect.high >= settings.tolerance:
        why = _cannot_repeat(evidence) or _too_few(repeated, settings, budget)
        return Verdict.INCONCLUSIVE, f"{on}, but whether the target judges drafts is not known. {why}"
    return Verdict.CONFORMS, f"{on}, none in answers of one token, and the same when asked again."
