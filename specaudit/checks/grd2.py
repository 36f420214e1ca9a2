"""GRD2: how often plain greedy decoding differs from itself, which is the noise floor of GRD1."""

from collections.abc import Sequence

import numpy as np

from specaudit.checks.commands import rerun
from specaudit.checks.control import no_greedy_decoding, not_under_control
from specaudit.checks.greedy.asked import can_force, force, greedy, prompts_of
from specaudit.checks.greedy.floor import OTHER, SAME, WIDE, Floor, floors, other_concurrency, to_force
from specaudit.checks.greedy.settings import GreedySettings
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.selfsame import is_self
from specaudit.checks.shares import share
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View
from specaudit.model.plan import Plan, Stage
from specaudit.stats.ties import LIMITS


class NoiseFloor(Check[GreedySettings]):
    """GRD2 noise floor of plain greedy decoding.

    Requirement: at temperature 0 the plain target answers a prompt as it did before, up to numeric ties; how often it
    does not is the floor that the speculating engine's divergences are held against (GRD1).

    Method: the reference answers every prompt, and a replay of it answers each again, at the same number of requests in
    flight and one at a time; where it scores prompts, it then reads each of its completions at once, as wide as a
    verifier and wider, and its first choice at each position is held against the token that it had emitted.

    Statistic: the share of prompts that diverge, in each circumstance, and the rate of flips by bins of the margin
    between first and second choice. Conforms when the Clopper-Pearson upper bound of the largest share, all bounds
    together at the suite's error rate, is below the tolerance. Where plain decoding contradicts itself by more than
    `hard_gap` nats, the reference is no single target (several models behind one address, or sampling at temperature
    0): inconclusive, as is then every hard divergence of GRD1. It never violates, since it says nothing of the subject.

    Assumptions: prompts are independent; positions of a bin are trials of one rate.

    Source: Clopper and Pearson 1934; engines' batch widths and kernels move logits a little.

    Kills: no mutant, since it looks at the reference; one that mixes models is found out, and accuses nobody. Spares:
    plain decoding, flips at near ties.
    """

    id = "GRD2"
    title = "noise floor of plain greedy decoding"
    settings_type = GreedySettings

    def next_stage(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Stage | None:
        """Ask the reference and its replay, then the replay at another concurrency, then let it read at once."""
        if "reference" not in evidence.capabilities or incomparable(evidence):
            return None
        if no_greedy_decoding(evidence) or is_self(plan):
            return None
        prompts = prompts_of(plan, evidence, settings.prompts)
        if SAME not in evidence.stages:
            both = greedy(plan, evidence, self.id, prompts, ("reference", "replay"), settings.max_tokens)
            return Stage(name=SAME, blocks=(both,))
        if OTHER not in evidence.stages and (in_flight := other_concurrency(plan)) is not None:
            alone = greedy(plan, evidence, self.id, prompts, ("replay",), settings.max_tokens)
            return Stage(name=OTHER, blocks=(alone,), concurrency=in_flight)
        if WIDE not in evidence.stages and can_force(evidence):
            return force(plan, evidence, self.id, WIDE, to_force(evidence))
        return None

    def smallest_detectable(self, plan: Plan, settings: GreedySettings, evidence: Evidence) -> Deviation | None:
        """Return the share of diverging prompts of which at least one is met with 90 % probability."""
        if SAME not in evidence.stages:
            return None
        return Deviation(name="share of prompts that diverge", value=float(1 - 0.1 ** (1 / settings.prompts)))

    def judge(self, settings: GreedySettings, evidence: Evidence, budget: Budget) -> Finding:
        """Bound the share on which plain decoding differs from itself."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_greedy_decoding(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        hard_gap = 0.0 if "reference" in evidence.laws else settings.hard_gap
        measured = floors(evidence, hard_gap)
        if not measured:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No prompt was answered twice by the reference.")
        effects = [_effect(settings, one, budget.delta / len(measured)) for one in measured]
        worst = max(effects, key=lambda effect: effect.high or 0.0)
        verdict, summary = _concluded(settings, measured, worst)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=worst,
            alpha=budget.alpha,
            smallest_detectable=float(1 - 0.1 ** (1 / min(one.prompts for one in measured))),
            views=tuple(_view(evidence, one, effect) for one, effect in zip(measured, effects, strict=True)),
            measured=_figures(measured),
            assumptions=("prompts and load are like those of interest",),
            notes=(*not_under_control(evidence), *_not_measured(evidence, measured)),
            next_step=rerun(evidence.plan, self.id) if verdict is not Verdict.CONFORMS else "",
        )


def _effect(settings: GreedySettings, floor: Floor, delta: float) -> Effect:
    return share(
        "share of prompts on which plain decoding differs from itself",
        floor.diverging,
        floor.prompts,
        lost=floor.lost,
        delta=delta,
        tolerance=settings.tolerance,
    )


def _concluded(settings: GreedySettings, measured: Sequence[Floor], worst: Effect) -> tuple[Verdict, str]:
    if hard := [one for one in measured if one.hard]:
        return Verdict.INCONCLUSIVE, (
            f"Plain decoding contradicts itself on {hard[0].hard} of {hard[0].prompts} prompts ({hard[0].name}) where "
            "its preference is too clear for numeric noise: whatever answers for the reference is not one target."
        )
    diverging, prompts = max((one.diverging, one.prompts) for one in measured)
    told = f"on {diverging} of {prompts} prompts, at near ties" if diverging else f"on none of {prompts} prompts"
    ways = ", ".join(one.name for one in measured)
    summary = f"Plain greedy decoding differs from itself {told} ({ways})."
    if worst.high is not None and worst.high < settings.tolerance:
        return Verdict.CONFORMS, summary
    return (
        Verdict.INCONCLUSIVE,
        f"{summary} That is too much, or too few prompts, to bound it below {worst.tolerance:g}.",
    )


def _view(evidence: Evidence, floor: Floor, effect: Effect) -> View:
    return View(
        name=floor.name,
        samples=floor.prompts,
        law="exact" if "reference" in evidence.laws else "scored" if floor.flips.trials.any() else "sampled",
        effect=effect,
        statistic=Statistic(name="diverging prompts", value=float(floor.diverging)),
    )


def _figures(measured: Sequence[Floor]) -> dict[str, float]:
    """Flip rates by bins of the margin, and how far apart plain decoding was at most."""
    figures: dict[str, float] = {}
    for floor in measured:
        for low, high, flips, trials in zip(
            (0.0, *LIMITS), LIMITS, floor.flips.flips.tolist(), floor.flips.trials.tolist(), strict=False
        ):
            if trials:
                figures[f"{floor.name}: flips per position at margins of {low:g} to {high:g} nats"] = flips / trials
        if floor.ties:
            figures[f"{floor.name}: exact ties"] = float(floor.ties)
        if floor.gaps:
            figures[f"{floor.name}: largest gap"] = float(np.max(floor.gaps))
    return figures


def _not_measured(evidence: Evidence, measured: Sequence[Floor]) -> tuple[str, ...]:
    notes = []
    if other_concurrency(evidence.plan) is None:
        notes.append("there was one request in flight throughout, so that no other batch width was met")
    if not any(floor.wide for floor in measured) and "reference" not in evidence.laws:
        notes.append(
            "no floor at a verifier's width: the reference does not score prompts, so that a soft excess of GRD1 stays "
            "inconclusive"
        )
    return tuple(notes)
