"""GRD3: a greedy completion ends where plain decoding ends it, for the same reason, and is billed alike."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec

from specaudit.checks.commands import rerun
from specaudit.checks.control import no_greedy_decoding, not_under_control
from specaudit.checks.grd3.cases import (
    CASES,
    PLAIN,
    STAGE,
    Case,
    asked_cases,
    case_stage,
    plain_stage,
    refused,
)
from specaudit.checks.grd3.endings import Compared, Ending, compare, contradicts, ended_as_asked, shown_eos
from specaudit.checks.grd3.paths import Paths, paths
from specaudit.checks.greedy.asked import answers
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.selfsame import is_self
from specaudit.checks.shares import share
from specaudit.checks.windows import coverage, nothing_drafted
from specaudit.model.completion import Response
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.model.plan import Plan, Stage
from specaudit.model.request import Request, Token
from specaudit.model.suite import CheckSettings

_FEWEST = 8
"""Plain completions without any sign of a stop after which a reference is taken to ignore it."""


class EndSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of GRD3."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of requests of each kind that may end otherwise."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 64
    """Each is asked once in every way."""
    max_tokens: Annotated[int, msgspec.Meta(ge=6)] = 32


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """One case: how its requests ended."""

    case: Case
    asked: int
    found: Sequence[tuple[Request, Compared]]
    """Every request that both arms answered."""
    ignored: bool
    """The reference does not heed what was asked, so that nothing can be compared."""

    def count(self, ending: Ending) -> int:
        return sum(compared.ending is ending for _, compared in self.found)


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
        judged = _judged(evidence) if STAGE in evidence.stages else []
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
            witness=None if wrong is None else _witness(*wrong),
            views=tuple(_view(one, effects[one.case.name]) for one in compared),
            coverage={
                "stops inside an accepted block": taken.stops,
                "caps where a block would have gone on": taken.caps,
                "completions that came to EOS": _eos_met(evidence),
            },
            assumptions=("the prompts are like those of interest",),
            notes=(*not_under_control(evidence), *_not_asked(evidence, judged)),
            next_step=rerun(evidence.plan, self.id) if verdict is Verdict.VIOLATES else "",
        )


def _judged(evidence: Evidence) -> list[_Judged]:
    """All cases that were asked, in order."""
    plain = {index: answer.completion for index, answer in answers(evidence, PLAIN, "reference").items()}
    eos = shown_eos(plain.values())
    first = {planned.prompt_index: response for _, planned, response in evidence.answered(PLAIN, "reference")}
    found = []
    slot = 0
    for case, block in zip(asked_cases(evidence), evidence.stages[STAGE].blocks, strict=False):
        told: dict[str, dict[int, Response | None]] = {"subject": {}, "reference": {}}
        requests: dict[int, Request] = {}
        for planned in block:
            if evidence.attempts_at(STAGE, slot):  # what was never asked is no loss
                told[planned.arm][planned.prompt_index] = evidence.response(STAGE, slot)
            requests[planned.prompt_index] = planned.request
            slot += 1
        theirs = told["reference"] or {index: first.get(index) for index in told["subject"]}
        found.append(_compared(case, requests, told["subject"], theirs, eos))
    return found


def _compared(
    case: Case,
    requests: dict[int, Request],
    ours: dict[int, Response | None],
    theirs: dict[int, Response | None],
    eos: Token | None,
) -> _Judged:
    pairs = [
        (requests[index], mine, plain)
        for index, mine in ours.items()
        if _told(mine) and _told(plain := theirs.get(index)) and mine is not None and plain is not None
    ]
    heeded = [ended_as_asked(request, plain.completions[0]) for request, _, plain in pairs]
    broken = sum(bool(contradicts(request, plain.completions[0], None, eos)) for request, _, plain in pairs)
    by_request = case.stops and case.name != "EOS"
    return _Judged(
        case=case,
        asked=len(ours),
        found=[(request, compare(request, mine, plain, eos)) for request, mine, plain in pairs],
        ignored=broken > 0 or (by_request and len(pairs) >= _FEWEST and not any(heeded)),
    )


def _told(response: Response | None) -> bool:
    return response is not None and bool(response.completions) and response.completions[0].tokens is not None


def _effect(settings: EndSettings, one: _Judged, budget: Budget) -> Effect:
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


def _concluded(evidence: Evidence, compared: Sequence[_Judged], worst: Effect, taken: Paths) -> tuple[Verdict, str]:
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


def _eos_met(evidence: Evidence) -> int:
    """Plain completions that stopped by themselves."""
    return sum(answer.completion.finish_reason == "stop" for answer in answers(evidence, PLAIN, "reference").values())


def _not_asked(evidence: Evidence, judged: Sequence[_Judged]) -> tuple[str, ...]:
    """What was not looked at, and why."""
    notes = []
    for case in CASES:
        if roles := refused(case, evidence):
            notes.append(f"{case.name}: not asked, since the {' and the '.join(roles)} refuses it with an error")
    for one in judged:
        if one.ignored:
            notes.append(f"{one.case.name}: not compared, since the reference itself does not heed it")
        elif not one.found:
            notes.append(f"{one.case.name}: no plain completion had a place for it, or none was answered")
    if not _eos_met(evidence):
        notes.append("no completion came to EOS, so nothing is said of it")
    return tuple(notes)


def _view(one: _Judged, effect: Effect) -> View:
    return View(
        name=one.case.name,
        samples=len(one.found),
        law="sampled",
        effect=effect,
        statistic=Statistic(name="wrong ends", value=float(one.count(Ending.WRONG))),
    )


def _witness(request: Request, compared: Compared) -> Witness:
    prompt = request.prompt if isinstance(request.prompt, str) else " ".join(map(str, request.prompt))
    said = [
        f"{name} {value!r}"
        for name, value in (
            ("max_tokens", request.max_tokens),
            ("stop_token_ids", list(request.stop_token_ids)),
            ("stop", list(request.stop)),
            ("min_tokens", request.min_tokens),
        )
        if value
    ]
    return Witness(
        what=f"after prompt {prompt!r} with {', '.join(said)} the subject {compared.why}",
        observed=None,
        expected=None,
        unit="",
    )


def _detectable(requests: int) -> float:
    """The share of wrong ends of which at least one is met with 90 % probability."""
    return float(1 - 0.1 ** (1 / requests))
