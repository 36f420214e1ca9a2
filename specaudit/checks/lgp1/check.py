"""LGP1: what is demanded, and what is concluded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import not_under_control
from specaudit.checks.interface import POWER, Budget, Check, budget_of
from specaudit.checks.lgp1.explained import MODES, describe, deviates, explained
from specaudit.checks.lgp1.requests import CHECK, SAMPLE, SCORE, How, sample_stage, score_stage, scoring, why_not
from specaudit.checks.lgp1.scored import Scored, ScoredAnswers, scored_answers
from specaudit.checks.lgp1.settings import LogprobSettings
from specaudit.checks.selfsame import SELF_CONSISTENCY, is_self
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import coverage, missing_path, paths_taken
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.model.plan import Plan, Stage
from specaudit.stats.power import detectable_share

_SHARE_OF = "share of answers with a logprob that is off"


@dataclass(frozen=True, kw_only=True)
class _Mode:
    """The answers under the hypothesis that one kind of logprobs is reported."""

    name: str
    off: tuple[Scored, ...]
    """Tokens whose logprobs deviate."""
    judged: int
    """Answers of which it is known whether they hold such a token."""
    effect: Effect


class ReportedLogprobs(Check[LogprobSettings]):
    """LGP1 reported logprobs are those of the target.

    Requirement: the logprob that the subject reports beside an emitted token is the target's in that context, raw or
    processed, whether the token was drafted, accepted, put in a draft's place, or drawn behind the last draft.

    Null hypothesis: all reported logprobs are the target's raw ones, before temperature and filters, or all are its
    processed ones, within `nats` of what the reference says.

    Statistic: the reference scores the subject's tokens in their own contexts, by teacher forcing or one token a
    request; in process its law is exactly known. The share of answers that hold a logprob which is off by more than
    `nats`, with Clopper-Pearson bounds, once for raw and once for processed logprobs. Violates when both lower bounds
    exceed the tolerance; where the law is exactly known a single logprob in either way is enough. Conforms when one of
    the upper bounds is below it (each at half of the error probability), and drafts were rejected and bonus tokens
    drawn. What deviating logprobs are instead is named: 0, the other kind, the drafter's, another position's.

    Assumptions: the reference serves the same target; numeric noise moves no logprob by more than `nats`.

    Source: Clopper and Pearson 1934; ggml-org/llama.cpp issue 27972; vllm-project/vllm pull requests 30846 and 33391.

    Kills: logprob-of-draft, zero-logprobs, logprob-row-shifted, logprobs-mode-mixed. Spares: plain decoding, correct
    speculation, processed-logprobs.
    """

    id = CHECK
    title = "reported logprobs are those of the target"
    settings_type = LogprobSettings
    against_itself = True
    plans_from_answers = True

    def next_stage(self, plan: Plan, settings: LogprobSettings, evidence: Evidence) -> Stage | None:
        """Ask for answers with their logprobs, then for the reference's in the same contexts."""
        if not {"subject", "reference"} <= evidence.capabilities.keys() or why_not(evidence):
            return None
        if SAMPLE not in evidence.stages:
            return sample_stage(plan, settings, evidence)
        if scoring(evidence) == "exact" or SCORE in evidence.stages:
            return None
        return score_stage(plan, settings, evidence)

    def smallest_detectable(self, plan: Plan, settings: LogprobSettings, evidence: Evidence) -> Deviation | None:
        """Return the share that is seen above the tolerance with 90 % probability."""
        if SAMPLE not in evidence.stages:
            return None
        alpha = budget_of(plan, CHECK).alpha
        value = detectable_share(settings.prompts, settings.tolerance, alpha=alpha, power=POWER)
        return Deviation(name=_SHARE_OF, value=value)

    def judge(self, settings: LogprobSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count the answers that hold a logprob which is not the target's."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if not {"subject", "reference"} <= set(evidence.capabilities):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No answers were collected.")
        if reason := why_not(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if SAMPLE not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No answers were collected.")
        found = scored_answers(settings, evidence, scoring(evidence))
        modes = list(_modes(settings, budget, found, _seen(found)))
        if len(modes) < 1 + found.processed_known:  # a way that cannot be judged may be the right one
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, _nothing(found))
        return self._finding(settings, evidence, budget, found, modes)

    def _finding(
        self,
        settings: LogprobSettings,
        evidence: Evidence,
        budget: Budget,
        found: ScoredAnswers,
        modes: Sequence[_Mode],
    ) -> Finding:
        # A first token comes from prefill: how it is reported is how the server reports where nothing was drafted.
        best = min(modes, key=lambda one: (sum(not token.position for token in one.off), len(one.off)))
        # What is known exactly is reported without noise.
        exact = scoring(evidence) == "exact"
        violates = all((exact and one.off) or _verdict(one, settings) is Verdict.VIOLATES for one in modes)
        taken = coverage(evidence, SAMPLE)
        missing = missing_path(evidence, [SAMPLE], taken)
        bounded = any(_verdict(one, settings) is Verdict.CONFORMS for one in modes)
        verdict = Verdict.INCONCLUSIVE
        if violates:
            verdict = Verdict.VIOLATES
        elif bounded and not missing:
            verdict = Verdict.CONFORMS
        worst = max(best.off, key=lambda one: _gap(one, best.name), default=None)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(verdict, settings, best, found, missing if bounded else ""),
            effect=best.effect,
            alpha=budget.alpha,
            witness=_witness(worst, best.name) if worst else None,
            views=tuple(_view(one, scoring(evidence)) for one in modes),
            coverage=paths_taken(taken),
            measured={
                "answers scored": float(best.judged),
                "answers lost": float(found.lost),
                "answers without all logprobs": float(len(found.missing)),
                "tokens scored": float(len(found.tokens)),
                "tokens off": float(len(best.off)),
                "positions with fewer likely tokens than asked": float(found.unlisted),
            },
            assumptions=_assumptions(settings, evidence),
            notes=tuple(_notes(evidence, found)),
            next_step=_next_step(verdict, evidence, missing=bool(missing) and bounded),
        )


def _seen(found: ScoredAnswers) -> frozenset[int]:
    """Answers of which a token behind the first was scored: a first one comes from prefill."""
    return frozenset(one.answer for one in found.tokens if one.position)


def _nothing(found: ScoredAnswers) -> str:
    if found.missing:
        return f"{len(found.missing)} answers came without the logprobs that were asked for, and none with them."
    return "No token's logprob could be held against the target's."


def _modes(settings: LogprobSettings, budget: Budget, found: ScoredAnswers, seen: frozenset[int]) -> Iterator[_Mode]:
    """Judge each way of reporting; an answer without all its logprobs is lost, unless one of them is off."""
    modes = MODES if found.processed_known else MODES[:1]
    for name in modes:
        off = tuple(one for one in found.tokens if one.answer in seen and deviates(one, name, settings.nats))
        guilty = {one.answer for one in off}
        judged = (seen - found.missing) | guilty
        if not judged:
            continue
        effect = share(
            _SHARE_OF,
            len(guilty),
            len(judged),
            lost=found.lost + len(found.missing - guilty),
            alpha=budget.alpha,
            delta=budget.delta / len(modes),
            tolerance=settings.tolerance,
        )
        yield _Mode(name=name, off=off, judged=len(judged), effect=effect)


def _verdict(mode: _Mode, settings: LogprobSettings) -> Verdict:
    return decided(mode.effect, settings.tolerance)


def _gap(one: Scored, mode: str) -> float:
    return abs(one.reported - one.says.get(mode, float("-inf")))


def _summary(
    verdict: Verdict,
    settings: LogprobSettings,
    best: _Mode,
    found: ScoredAnswers,
    missing: str,
) -> str:
    guilty = len({one.answer for one in best.off})
    if verdict is Verdict.VIOLATES:
        return (
            f"Reported logprobs are not the target's: {guilty} of {best.judged} answers hold some that are off by more "
            f"than {settings.nats:g} nats. They are {explained(best.off, best.name, settings.nats)}."
        )
    held = f"{best.judged - guilty} of {best.judged} answers hold only {describe(best.name)}"
    told = f"{held}, within {settings.nats:g} nats of the target's"
    if verdict is Verdict.CONFORMS:
        return f"{told}."
    if missing:
        return f"{told}, but this says nothing of verification steps: {missing}."
    if found.missing:
        return f"{told}, and {len(found.missing)} came without all logprobs that were asked for."
    return f"{told}: the share of the others is neither bounded below {settings.tolerance:g} nor shown to be larger."


def _witness(worst: Scored, mode: str) -> Witness:
    said = None if worst.reported == float("-inf") else worst.reported
    return Witness(
        what=f"token {worst.token} at position {worst.position + 1} of answer {worst.answer + 1}",
        observed=said,
        expected=worst.says.get(mode),
        unit=f"{mode} logprob, in nats",
    )


def _view(one: _Mode, how: How) -> View:
    return View(
        name=f"against {one.name} logprobs",
        samples=one.judged,
        law="exact" if how == "exact" else "scored",
        effect=one.effect,
        statistic=Statistic(name="tokens that are off", value=float(len(one.off))),
    )


def _assumptions(settings: LogprobSettings, evidence: Evidence) -> tuple[str, ...]:
    target = SELF_CONSISTENCY if is_self(evidence.plan) else "the reference serves the same target"
    return (target, f"numeric noise moves no logprob by more than {settings.nats:g} nats")


def _notes(evidence: Evidence, found: ScoredAnswers) -> Iterator[str]:
    if not found.processed_known:
        yield "the target's law behind the filters is not known, so only raw logprobs could be recognised"
    if found.unlisted:
        yield f"{found.unlisted} positions came with fewer likely tokens than were asked for"
    yield from not_under_control(evidence)


def _next_step(verdict: Verdict, evidence: Evidence, *, missing: bool) -> str:
    if verdict is Verdict.CONFORMS:
        return ""
    if verdict is Verdict.INCONCLUSIVE and missing and evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return rerun(evidence.plan, CHECK)
