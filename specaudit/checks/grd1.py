"""GRD1: at temperature 0 the speculating engine emits what plain greedy decoding of the same target emits."""

from collections.abc import Iterator, Sequence
from itertools import chain

from specaudit.checks.background import accompanied, beside_traffic, no_traffic
from specaudit.checks.commands import one_request, rerun, with_option
from specaudit.checks.control import no_greedy_decoding, not_under_control
from specaudit.checks.greedy.asked import Forced, answers, can_force, force, forcible, greedy, prompts_of, scores
from specaudit.checks.greedy.conditions import Condition, condition
from specaudit.checks.greedy.floor import Floor, floors
from specaudit.checks.greedy.partings import Compared, Parting, Reader
from specaudit.checks.greedy.report import clearest, exhibit, figures, view, witness
from specaudit.checks.greedy.settings import GreedySettings
from specaudit.checks.greedy.sweep import STAGE as SWEEP
from specaudit.checks.greedy.sweep import sweep_stage, swept
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.selfsame import is_self
from specaudit.checks.windows import coverage, nothing_drafted
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage

_ALONE, _BESIDE, _SCORES = "GRD1", "GRD1.beside", "GRD1.scores"
_NAMES = {_ALONE: "alone", _BESIDE: "beside traffic"}

_BLOCKS = 5
"""Counter windows of a stage, so that one that is void leaves others; odd, so that every block asks both arms."""


class PrefixEquality(Check[GreedySettings]):
    """GRD1 greedy prefix equality, alone and beside traffic.

    Requirement: at temperature 0 the subject emits token for token what the plain target emits, whoever else is asking.

    Null hypothesis: both engines take the argmax of the same logits; numeric noise may flip near ties, as often as it
    does in plain decoding.

    Method: every prompt is asked of both arms, and, where the suite declares background traffic, of the subject again
    with sampled requests in flight beside it. What the subject emitted behind a divergence is scored by the reference,
    where it scores prompts. Where the number of drafts can be set, prompts that diverge are asked again with 0 to K-1.

    Statistic: the number of prompts whose completions differ, and for each the first position that differs with its
    gap: how many nats the reference prefers its own token to the emitted one. HARD: a gap above `hard_gap`, a declared
    assumption (0 where the law is exactly known, since then there is no noise), violates. SOFT: more flips, by bins of
    the margin between first and second choice, than the noise floor allows (GRD2), by a betting process that carries
    the error budget; it violates if a floor was measured at a verifier's width, else it is inconclusive. Beside traffic
    the subject alone is a floor too. A gap of exactly 0 is a tie and counts as equal. Without a floor, divergences that
    are not hard are inconclusive. Conforms when in each circumstance the upper bound of the share of diverging prompts
    is below the tolerance: Clopper-Pearson's, less the lower bound of the share on which plain decoding differs from
    itself where GRD2 measures it.

    Assumptions: the prompts are like those of interest; the engine is as loaded as it was here.

    Source: Leviathan et al. 2023, section 2.2 (argmax sampling as a special case of speculative sampling).

    Kills: draft0-unverified where the law is exactly known; beside traffic greedy-sentinel-mismatch and
    uninitialised-parameters, which alone are right. Spares: plain decoding, correct speculation, near-ties.
    """

    id = "GRD1"
    title = "greedy prefix equality, alone and beside traffic"
    settings_type = GreedySettings

    def next_stage(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Stage | None:
        """Ask both arms, ask the subject beside traffic, then look closer where completions part."""
        if "reference" not in evidence.capabilities or incomparable(evidence):
            return None
        if no_greedy_decoding(evidence) or is_self(plan):
            return None
        if _ALONE not in evidence.stages:
            return _stage(plan, settings, evidence, _ALONE)
        if _BESIDE not in evidence.stages and not no_traffic(plan):
            return beside_traffic(_stage(plan, settings, evidence, _BESIDE), plan, evidence, self.id)
        if _SCORES not in evidence.stages and can_force(evidence):
            wanted = _to_force(evidence)
            if wanted and (stage := force(plan, evidence, self.id, _SCORES, wanted)) is not None:
                return stage
        if SWEEP not in evidence.stages:
            apart, stage_of = _apart(evidence)
            return sweep_stage(plan, evidence, apart, traffic=stage_of == _BESIDE, max_tokens=settings.max_tokens)
        return None

    def smallest_detectable(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Deviation | None:
        """Return the share of diverging prompts of which at least one is met with 90 % probability."""
        if _ALONE not in evidence.stages:
            return None
        return Deviation(name="share of prompts that diverge", value=_detectable(settings.prompts))

    def judge(self, settings: GreedySettings, evidence: Evidence, budget: Budget) -> Finding:
        """Compare completions prompt by prompt, in each circumstance by itself."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_greedy_decoding(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if _ALONE not in evidence.stages:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No greedy completion was collected.")
        measured = [] if "reference" in evidence.laws else floors(evidence, settings.hard_gap)
        found = _conditions(settings, evidence, budget, measured)
        if not found:
            return self.cannot_say(
                settings, Verdict.INCONCLUSIVE, "No prompt was answered with tokens by both engines."
            )
        return self._finding(settings, evidence, budget, found, measured)

    def _finding(
        self,
        settings: GreedySettings,
        evidence: Evidence,
        budget: Budget,
        found: dict[str, Condition],
        measured: Sequence[Floor],
    ) -> Finding:
        hard_gap = _hard_gap(settings, evidence)
        verdict, summary = _concluded(evidence, found, measured)
        worst = max(found.values(), key=lambda one: one.effect.high or 0.0)
        real = [parting for one in found.values() for parting in one.real]
        taken = {stage: coverage(evidence, stage) for stage in found}
        if verdict is Verdict.CONFORMS:
            missing = [nothing_drafted(evidence, [stage], taken[stage]) for stage in found]
            if any(missing):
                verdict = Verdict.INCONCLUSIVE
                summary = f"{summary} But this says nothing of the verifier: {next(filter(None, missing))}."
        alone = taken.get(_ALONE)
        beside = {"requests beside traffic": accompanied(evidence, _BESIDE)} if _BESIDE in evidence.stages else {}
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=worst.effect,
            alpha=budget.alpha,
            smallest_detectable=_detectable(min(len(one.compared) for one in found.values())),
            witness=witness(real) if real else None,
            views=tuple(view(evidence, one, measured) for one in found.values()) if len(found) > 1 else (),
            coverage={"drafted steps": alone.drafts if alone else None, **beside},
            measured={
                name: value
                for stage, one in found.items()
                for name, value in figures(one, marked=stage != _ALONE).items()
            },
            assumptions=tuple(_assumptions(evidence, hard_gap)),
            notes=(*not_under_control(evidence), *_notes(evidence)),
            exhibits=(exhibit(real, hard_gap),) if real else (),
            next_step=_next_step(
                verdict, evidence, real, measured, alone=found[_ALONE].real if _ALONE in found else ()
            ),
        )


def _stage(plan: Plan, settings: GreedySettings, evidence: Evidence, name: str) -> Stage:
    """Every prompt once: of both arms, in one block, or beside traffic of the subject only."""
    prompts = prompts_of(plan, evidence, settings.prompts)
    roles: tuple[Role, ...] = ("subject", "reference") if name == _ALONE else ("subject",)
    requests = greedy(plan, evidence, PrefixEquality.id, prompts, roles, settings.max_tokens)
    asked = [requests[first : first + len(roles)] for first in range(0, len(requests), len(roles))]
    blocks = (tuple(chain.from_iterable(asked[start::_BLOCKS])) for start in range(_BLOCKS))
    return Stage(name=name, blocks=tuple(filter(None, blocks)), scrape=evidence.capabilities["subject"].counters)


def _compared(evidence: Evidence, stage: str, *, scored: bool = True) -> list[Compared]:
    """The completions of a stage beside the plain ones, in the order of the prompts."""
    ours, plain = answers(evidence, stage, "subject"), answers(evidence, _ALONE, "reference")
    told = scores(evidence, _SCORES, _to_force(evidence)) if scored and _SCORES in evidence.stages else {}
    reader = Reader(evidence)
    return [
        reader.compare(index, answer.prompt, answer.completion, plain[index].completion, told.get((stage, index)))
        for index, answer in sorted(ours.items())
        if index in plain
    ]


def _to_force(evidence: Evidence) -> list[Forced]:
    """The subject's completions that part from the plain ones: what lies behind is still to be judged."""
    wanted: list[Forced] = []
    for stage in _NAMES:
        ours = answers(evidence, stage, "subject")
        apart = [one.prompt_index for one in _compared(evidence, stage, scored=False) if one.parting is not None]
        wanted += forcible(evidence, stage, ((index, ours[index]) for index in apart))
    return wanted


def _apart(evidence: Evidence) -> tuple[list[Compared], str]:
    """The comparisons that part at no tie, alone or else beside traffic, and the stage they are of."""
    for stage in _NAMES:
        compared = _compared(evidence, stage, scored=False)
        if apart := [one for one in compared if one.parting is not None and not one.parting.is_tie]:
            return apart, stage
    return [], _ALONE


def _hard_gap(settings: GreedySettings, evidence: Evidence) -> float:
    return 0.0 if "reference" in evidence.laws else settings.hard_gap


def _conditions(
    settings: GreedySettings, evidence: Evidence, budget: Budget, measured: Sequence[Floor]
) -> dict[str, Condition]:
    """What was compared in each circumstance, by the name of its stage."""
    found: dict[str, Condition] = {}
    circumstances = 1 if no_traffic(evidence.plan) else len(_NAMES)
    for stage, name in _NAMES.items():
        if compared := _compared(evidence, stage):
            found[stage] = condition(
                name,
                compared,
                measured,
                before=found.get(_ALONE),
                planned=settings.prompts,
                tolerance=settings.tolerance,
                hard_gap=_hard_gap(settings, evidence),
                alpha=budget.alpha / circumstances,
                delta=budget.delta,
                shared="GRD2" in evidence.plan.checks and "reference" not in evidence.laws,
            )
    return found


def _concluded(evidence: Evidence, found: dict[str, Condition], measured: Sequence[Floor]) -> tuple[Verdict, str]:
    """What all circumstances together show; where there is but one, the sentence does not name it."""
    verdicts = {stage: one.verdict(measured) for stage, one in found.items()}
    told = {stage: one.told(measured) for stage, one in found.items()}
    for stage, one in found.items():
        if verdicts[stage] is Verdict.INCONCLUSIVE and not one.real:
            told[stage] = (
                f"All {len(one.compared)} greedy completions compared are equal, but they are too few to bound the "
                f"share of diverging prompts below {one.effect.tolerance:g}."
            )
        elif verdicts[stage] is Verdict.INCONCLUSIVE and not one.hard and not one.excess and measured:
            told[stage] += (
                f" But they are too few to bound the share that parts beyond plain decoding's own below "
                f"{one.effect.tolerance:g}."
            )
    summary = " ".join(
        text if len(found) == 1 else f"{_NAMES[stage].capitalize()}: {text[0].lower()}{text[1:]}"
        for stage, text in told.items()
    )
    if Verdict.VIOLATES in verdicts.values():
        return Verdict.VIOLATES, summary
    if any(verdict is not Verdict.CONFORMS for verdict in verdicts.values()):
        return Verdict.INCONCLUSIVE, summary
    if not no_traffic(evidence.plan) and not (_BESIDE in found and accompanied(evidence, _BESIDE)):
        return Verdict.INCONCLUSIVE, f"{summary} But no request was seen to run beside the traffic that was planned."
    return Verdict.CONFORMS, summary


def _detectable(prompts: int) -> float:
    """The share of diverging prompts of which at least one is met with 90 % probability."""
    return float(1 - 0.1 ** (1 / prompts))


def _notes(evidence: Evidence) -> tuple[str, ...]:
    """What the K-sweep showed."""
    apart, _ = _apart(evidence)
    told = swept(evidence, apart, answers(evidence, _ALONE, "reference"))
    return (told,) if told else ()


def _assumptions(evidence: Evidence, hard_gap: float) -> Iterator[str]:
    yield f"a preference of more than {hard_gap:g} nats is no numeric noise"
    yield "prompts and load are like those of interest"
    if quiet := no_traffic(evidence.plan):
        yield f"what is equal alone is equal beside sampled traffic, which was not looked at: {quiet}"


def _next_step(
    verdict: Verdict,
    evidence: Evidence,
    real: Sequence[Parting],
    measured: Sequence[Floor],
    *,
    alone: Sequence[Parting],
) -> str:
    if verdict is Verdict.VIOLATES and alone:  # one request shows it where nothing need run beside it
        shown, slots = clearest(alone), evidence.stages[_ALONE].slots()
        asked = (one.request for one in slots if one.arm == "subject" and one.request.prompt == shown.prompt)
        return one_request(evidence, PrefixEquality.id, next(asked))
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, PrefixEquality.id)
    if real:
        return "specaudit explain GRD1" if measured else with_option(evidence.plan, "--suite", "greedy")
    if verdict is Verdict.INCONCLUSIVE and evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return ""
