"""GRD3: a greedy completion ends where plain decoding ends it, for the same reason, and is billed alike."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from specaudit.checks.commands import one_request
from specaudit.checks.control import no_greedy_decoding, not_under_control
from specaudit.checks.grd3.cases import PLAIN, STAGE, case_stage, plain_stage
from specaudit.checks.grd3.endings import Ending
from specaudit.checks.grd3.judged import Judged, judged_cases
from specaudit.checks.grd3.paths import Paths, paths
from specaudit.checks.grd3.told import eos_met, not_asked, view, witness
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.selfsame import is_self
from specaudit.checks.shares import share
from specaudit.checks.windows import coverage, nothing_drafted
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Stage
from specaudit.model.suite import CheckSettings


class EndSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of GRD3."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of requests of each kind that may end otherwise."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 64
    """Each is asked once in every way."""
    max_tokens: Annotated[int, msgspec.Meta(ge=6)] = 32


class EndEquality(Check[EndSettings]):
    """GRD3 stop, EOS and cap equality.

    Requirement: a greedy completion of the subject ends where the plain target's does, with the same text, the same
    finish reason and as many billed tokens, whatever ends it: EOS, a cap, a stop token, a stop string, or a stop that
    min_tokens holds off.

    Null hypothesis: verified blocks are cut as single tokens would be.

    Method: the reference answers every prompt first; stops, strings, min_tokens and caps are then put at places that
    its completions come to, at random, and both arms are asked. What an arm refuses (an error) or the reference ignores
    is not compared, and the finding says so.

    Statistic: completions that contradict their own request (longer than the cap, ended before min_tokens, gone on
    behind a stop) or that have the plain completion's tokens and end otherwise. No numeric noise does that, so one
    violates. Completions that part from the plain one before either ends are GRD1's affair; they and lost ones count
    against the bound. Conforms when for every kind of end the Clopper-Pearson upper bound of the share that ends
    otherwise is below the tolerance, and both paths were taken: a stop inside an accepted block, and a cap where a
    block would have gone on. How often is told at least, from counters or answers.

    Assumptions: the prompts are like those of interest. EOS is looked at only where completions come to it.

    Source: Leviathan et al. 2023, algorithm 1; vLLM v1/core/sched/utils.py (check_stop). Faults of the kind:
    huggingface/transformers issue 47912, vllm-project/vllm issue 26317.

    Kills: eos-only-last-checked, min-tokens-ignored, stop-inside-block-kept, rejected-tokens-billed. Spares: plain
    decoding, correct speculation, near-ties.
    """

    id = "GRD3"
    title = "stop, EOS and cap equality"
    settings_type = EndSettings
    optional_fields: ClassVar[Mapping[str, Any]] = {"stop_token_ids": (0,), "stop": ("\n\n\n",), "min_tokens": 1}

    def next_stage(self, plan: Plan, settings: EndSettings, evidence: Evidence) -> Stage | None:
        """Ask the reference where completions go, then both arms to end them there."""
        if "reference" not in evidence.capabilities or incomparable(evidence):
            return None
        if no_greedy_decoding(evidence) or is_self(plan):
            return None
        if PLAIN not in evidence.stages:
            return plain_stage(plan, evidence, settings.prompts, settings.max_tokens)
        return None if STAGE in evidence.stages else case_stage(plan, evidence, settings.max_tokens)

    def smallest_detectable(self, plan: Plan, settings: EndSettings, evidence: Evidence) -> Deviation | None:
        """Return the share of wrong ends of one kind of which at least one is met with 90 % probability."""
        if STAGE not in evidence.stages:
            return None
        return Deviation(name="share of requests that end otherwise", value=_detectable(settings.prompts))

    def judge(self, settings: EndSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Compare how completions end, kind by kind."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_greedy_decoding(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        judged = judged_cases(evidence) if STAGE in evidence.stages else []
        compared = [one for one in judged if one.found and not one.ignored]
        if not compared:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No request to end was answered by both engines.")
        effects = {one.case.name: _effect(settings, one, budget) for one in compared}
        worst = max(effects.values(), key=lambda effect: effect.high or 0.0)
        taken = paths(evidence, budget.delta)
        verdict, summary = _concluded(evidence, compared, worst, taken)
        wrong = next(((r, c) for one in compared for r, c in one.found if c.ending is Ending.WRONG), None)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=worst,
            alpha=budget.alpha,
            smallest_detectable=_detectable(min(len(one.found) for one in compared)),
            witness=None if wrong is None else witness(*wrong),
            views=tuple(view(one, effects[one.case.name]) for one in compared),
            coverage={
                "stops inside an accepted block": taken.stops,
                "caps where a block would have gone on": taken.caps,
                "completions that came to EOS": eos_met(evidence),
            },
            assumptions=("the prompts are like those of interest",),
            notes=(*not_under_control(evidence), *not_asked(evidence, judged)),
            next_step=one_request(evidence, self.id, wrong[0]) if wrong is not None else "",
        )


def _effect(settings: EndSettings, one: Judged, budget: Budget) -> Effect:
    wrong = one.count(Ending.WRONG) + one.count(Ending.ELSEWHERE)
    judged = len(one.found) - one.count(Ending.APART)
    return share(
        "share of requests that end otherwise",
        wrong,
        max(judged, 1),
        lost=one.asked - judged if judged else one.asked - 1,
        delta=budget.delta,
        tolerance=settings.tolerance,
    )


def _concluded(evidence: Evidence, compared: Sequence[Judged], worst: Effect, taken: Paths) -> tuple[Verdict, str]:
    wrong = {one.case.name: one.count(Ending.WRONG) for one in compared if one.count(Ending.WRONG)}
    if wrong:
        kinds = ", ".join(f"{count} asked to end by {name}" for name, count in wrong.items())
        whys = Counter(c.why for one in compared for _, c in one.found if c.ending is Ending.WRONG)
        return Verdict.VIOLATES, (
            f"{sum(wrong.values())} completions end otherwise than plain decoding ends them ({kinds}): one "
            f"{whys.most_common(1)[0][0]}."
        )
    kinds = ", ".join(one.case.name for one in compared)
    requests = sum(len(one.found) - one.count(Ending.APART) for one in compared)
    apart = sum(one.count(Ending.APART) for one in compared)
    elsewhere = sum(one.count(Ending.ELSEWHERE) for one in compared)
    odd = f", but for {elsewhere} that may be near ties with EOS" if elsewhere else ""
    summary = f"All {requests} completions compared end as plain decoding ends them ({kinds}){odd}."
    if apart:
        summary += f" {apart} more part from it before they end, which is for GRD1 to judge."
    if worst.high is None or worst.tolerance is None or worst.high >= worst.tolerance:
        return (
            Verdict.INCONCLUSIVE,
            f"{summary} They are too few to bound the share of others below {worst.tolerance:g}.",
        )
    if missing := _missing(evidence, taken):
        return Verdict.INCONCLUSIVE, f"{summary} But this says nothing of the verifier: {missing}."
    return Verdict.CONFORMS, summary


def _missing(evidence: Evidence, taken: Paths) -> str:
    """Name the path without which equal ends say nothing of the verifier; nothing where none lacks."""
    if taken.stops is None and (nothing := nothing_drafted(evidence, [STAGE], coverage(evidence, STAGE))):
        return nothing
    if not taken.stops:
        return "no stop was seen to fall inside an accepted block"
    return "" if taken.caps else "no cap was seen to fall where a block would have gone on"


def _detectable(requests: int) -> float:
    """The share of wrong ends of which at least one is met with 90 % probability."""
    return float(1 - 0.1 ** (1 / requests))
