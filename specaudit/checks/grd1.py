"""GRD1: at temperature 0 the speculating engine emits what plain greedy decoding of the same target emits."""

from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated

import msgspec
import numpy as np

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import no_greedy_decoding, not_under_control
from specaudit.checks.exhibits import points
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.seeds import first_seed
from specaudit.checks.selfsame import is_self
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import coverage, nothing_drafted
from specaudit.laws.contexts import ExactLaws
from specaudit.model.completion import Completion
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Effect, Finding, Verdict, Witness
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import GREEDY, Prompt, Request, Sampling, Token
from specaudit.model.segments import only
from specaudit.model.suite import CheckSettings
from specaudit.prompts.choose import choose_prompts

_STAGE = "GRD1"
_ROLES: tuple[Role, ...] = ("subject", "reference")
_LOGPROBS_ASKED = 20

_BLOCKS = 5
"""Counter windows of the stage, so that one that is void leaves others; odd, so that every block asks both arms."""


class GreedySettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of GRD1."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.15
    """Share of prompts that may diverge."""
    prompts: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 64
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 32
    hard_gap: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    """Nats by which the reference prefers its own token, from which on a divergence is no numeric accident."""


@dataclass(frozen=True, kw_only=True)
class _Divergence:
    """The first token at which a prompt's two completions differ."""

    prompt: Prompt
    position: int
    emitted: Token | None
    expected: Token | None
    gap: float | None
    """logprob(expected) − logprob(emitted) under the reference, in nats; None where it is not known."""


class PrefixEquality(Check[GreedySettings]):
    """GRD1 greedy prefix equality.

    Requirement: at temperature 0 the subject emits token for token what the plain target emits.

    Null hypothesis: both engines take the argmax of the same logits; numeric noise may flip near ties.

    Statistic: the number of prompts whose completions differ, and for each the first position that differs with
    its gap: how many nats the reference prefers its own token over the emitted one. A gap above `hard_gap` is no
    numeric accident and violates (a declared assumption; 0 where the law is exactly known, since then there is no
    noise). A gap of exactly 0 is a tie and counts as equal. Divergences in between are inconclusive: whether
    they are numeric noise is decided by the noise floor of plain decoding (GRD2). Conforms when the
    Clopper-Pearson upper bound of the share of diverging prompts is below the tolerance.

    Assumptions: the prompts are like those of interest; the engine is as loaded as it was here.

    Source: Leviathan et al. 2023, section 2.2 (argmax sampling as a special case of speculative sampling).

    Kills: draft0-unverified where the law is exactly known. Spares: plain decoding, correct speculation.
    """

    id = "GRD1"
    title = "greedy prefix equality"
    settings_type = GreedySettings

    def next_stage(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Stage | None:
        """Ask every arm for the greedy completion of every prompt."""
        if _STAGE in evidence.stages or "reference" not in evidence.capabilities or incomparable(evidence):
            return None
        if no_greedy_decoding(evidence) or is_self(plan):
            return None
        capabilities = evidence.capabilities
        prompts = choose_prompts(settings.prompts, list(capabilities.values()), plan.seed)
        logprobs = min(capabilities["reference"].logprobs, _LOGPROBS_ASKED)
        requests = tuple(
            PlannedRequest(
                arm=role,
                prompt_index=index,
                request=Request(
                    prompt=prompt,
                    sampling=GREEDY,
                    seed=first_seed(plan, self.id, role) + index,
                    max_tokens=settings.max_tokens,
                    logprobs=logprobs if role == "reference" and logprobs else None,
                ),
            )
            for index, prompt in enumerate(prompts)
            for role in _ROLES
        )
        blocks = tuple(requests[start::_BLOCKS] for start in range(_BLOCKS) if requests[start::_BLOCKS])
        return Stage(name=_STAGE, blocks=blocks, scrape=capabilities["subject"].counters)

    def smallest_detectable(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Deviation | None:
        """Return the share of diverging prompts of which at least one is met with 90 % probability."""
        if _STAGE not in evidence.stages:
            return None
        return Deviation(name="share of prompts that diverge", value=_detectable(settings.prompts))

    def judge(self, settings: GreedySettings, evidence: Evidence, budget: Budget) -> Finding:
        """Compare completions prompt by prompt."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_greedy_decoding(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if _STAGE not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No greedy completion was collected.")
        pairs = _pairs(evidence)
        if not pairs:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "No prompt was answered with tokens by both engines."
            )
        divergences = [d for prompt, pair in pairs if (d := _divergence(evidence, prompt, *pair)) is not None]
        return self._finding(settings, evidence, budget, len(pairs), divergences)

    def _finding(
        self,
        settings: GreedySettings,
        evidence: Evidence,
        budget: Budget,
        compared: int,
        divergences: list[_Divergence],
    ) -> Finding:
        hard_gap = 0.0 if "reference" in evidence.laws else settings.hard_gap
        real = [d for d in divergences if d.gap != 0.0]
        hard = [d for d in real if d.gap is not None and d.gap > hard_gap]
        lost = settings.prompts - compared
        effect = share(
            "share of prompts that diverge",
            len(real),
            compared,
            lost=lost,
            alpha=budget.delta,
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        worst = max(real, key=lambda d: -1.0 if d.gap is None else d.gap, default=None)
        verdict, summary = _verdict(settings, compared, real, hard, effect, ties=len(divergences) - len(real))
        taken = coverage(evidence, _STAGE)
        if verdict is Verdict.CONFORMS and (missing := nothing_drafted(evidence, [_STAGE], taken)):
            verdict = Verdict.INCONCLUSIVE
            summary = f"{summary} But this says nothing of the verifier: {missing}."
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            alpha=budget.alpha,
            smallest_detectable=_detectable(compared),
            witness=_witness(worst) if worst else None,
            coverage={"drafted steps": taken.drafts if taken else None},
            measured={
                "prompts compared": compared,
                "prompts lost": lost,
                "diverging prompts": len(real),
                "exact ties": len(divergences) - len(real),
                "hard divergences": len(hard),
                **({"median first divergence": float(np.median([d.position for d in real]))} if real else {}),
            },
            assumptions=(
                f"a preference of more than {hard_gap:g} nats is no numeric noise",
                "prompts and load are like those of interest",
            ),
            notes=not_under_control(evidence),
            exhibits=(_exhibit(real, hard_gap),) if real else (),
            next_step=_next_step(verdict, evidence, real),
        )


def _exhibit(divergences: list[_Divergence], hard_gap: float) -> Exhibit:
    return points(
        "First divergences",
        Column(name="position", values=tuple(float(d.position) for d in divergences), unit="tokens"),
        Column(name="gap", values=tuple(d.gap for d in divergences), unit="nats"),
        Column(name="emitted in place of", values=tuple(f"{d.emitted!r} for {d.expected!r}" for d in divergences)),
        rules={"hard gap": hard_gap} if hard_gap else {},
        note="The gap is how much the reference prefers its own token; a missing one is not known.",
    )


def _detectable(prompts: int) -> float:
    """The share of diverging prompts of which at least one is met with 90 % probability."""
    return float(1 - 0.1 ** (1 / prompts))


def _verdict(
    settings: GreedySettings,
    compared: int,
    real: list[_Divergence],
    hard: list[_Divergence],
    effect: Effect,
    *,
    ties: int,
) -> tuple[Verdict, str]:
    if hard:
        return Verdict.VIOLATES, (
            f"{len(real)} of {compared} greedy completions differ from the plain target's, {len(hard)} of them where "
            "the target's preference is too clear for numeric noise."
        )
    if real:
        return Verdict.INCONCLUSIVE, (
            f"{len(real)} of {compared} greedy completions differ from the plain target's, all at near ties or at "
            "gaps that are not known: numeric noise is not ruled out."
        )
    if decided(effect, settings.tolerance) is Verdict.CONFORMS:
        equal = "token for token" if not ties else f"but for exact ties in {ties} of them"
        return Verdict.CONFORMS, f"All {compared} greedy completions equal the plain target's, {equal}."
    return Verdict.INCONCLUSIVE, (
        f"All {compared} greedy completions compared are equal, but they are too few to bound the share of diverging "
        f"prompts below {settings.tolerance:g}."
    )


def _next_step(verdict: Verdict, evidence: Evidence, real: list[_Divergence]) -> str:
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, PrefixEquality.id)
    if real:
        return "specaudit explain GRD1"
    if verdict is Verdict.INCONCLUSIVE and evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return ""


def _pairs(evidence: Evidence) -> list[tuple[Prompt, tuple[Completion, Completion]]]:
    """(prompt, (subject's, reference's completion)) of every prompt that both answered with tokens."""
    answers: dict[int, dict[Role, Completion]] = {}
    prompts: dict[int, Prompt] = {}
    for role in _ROLES:
        for _, planned, response in evidence.answered(_STAGE, role):
            prompts[planned.prompt_index] = planned.request.prompt
            for completion in response.completions[:1] if response else ():
                if (judged := only(completion, evidence.plan.segment)).tokens is not None:
                    answers.setdefault(planned.prompt_index, {})[role] = judged
    return [
        (prompts[index], (found["subject"], found["reference"]))
        for index, found in sorted(answers.items())
        if len(found) == len(_ROLES)
    ]


def _divergence(evidence: Evidence, prompt: Prompt, subject: Completion, reference: Completion) -> _Divergence | None:
    pairs = zip_longest(subject.tokens or (), reference.tokens or ())
    for position, (emitted, expected) in enumerate(pairs):
        if emitted != expected:
            gap = _gap(evidence, prompt, reference, position, emitted, expected)
            return _Divergence(prompt=prompt, position=position, emitted=emitted, expected=expected, gap=gap)
    return None


def _gap(
    evidence: Evidence,
    prompt: Prompt,
    reference: Completion,
    position: int,
    emitted: Token | None,
    expected: Token | None,
) -> float | None:
    """Nats by which the reference prefers its own token in the context where the two part."""
    if emitted is None or expected is None:
        return None
    if "reference" in evidence.laws and not isinstance(prompt, str):
        laws = ExactLaws(evidence.laws["reference"], Sampling())
        law = laws.next_law(laws.key((*prompt, *(reference.tokens or ())[:position]))) or {}
        tiny = np.finfo(float).tiny
        return float(np.log(law.get(expected, tiny)) - np.log(law.get(emitted, tiny)))
    if reference.logprobs is None or position >= len(reference.logprobs):
        return None
    top = dict(reference.logprobs[position].top)
    if expected not in top or not top:
        return None
    if emitted in top:
        return top[expected] - top[emitted]
    least = top[expected] - min(top.values())  # it is less likely than all reported: at least so much
    return least if least > 0 else None


def _witness(worst: _Divergence) -> Witness:
    emitted = "the end" if worst.emitted is None else f"token {worst.emitted!r}"
    expected = "the end" if worst.expected is None else f"token {worst.expected!r}"
    prompt = worst.prompt if isinstance(worst.prompt, str) else " ".join(map(str, worst.prompt))
    return Witness(
        what=f"{emitted} in place of {expected} at position {worst.position} after prompt {prompt!r}",
        observed=None if worst.gap is None else -worst.gap,
        expected=0.0,
        unit="logprob relative to the reference's own token, in nats",
    )
