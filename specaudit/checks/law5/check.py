"""LAW5: what is demanded, and what is concluded."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from specaudit.checks.commands import rerun
from specaudit.checks.control import no_common_law, not_under_control, only_copies
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.law5 import matrix
from specaudit.checks.law5.cells import Common, cells, sampling_of
from specaudit.checks.law5.effects import Effect as Applied
from specaudit.checks.law5.effects import effects
from specaudit.checks.law5.explain import Shared, shared
from specaudit.checks.law5.requests import (
    CHECK,
    AskedCell,
    asked_cells,
    asked_stage,
    effect_stage,
    part_of,
    pilot_stage,
)
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.checks.part import Part
from specaudit.checks.selfsame import is_self
from specaudit.checks.windows import coverage, missing_path, paths_taken, rare_paths
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Exhibit
from specaudit.model.finding import Finding, Verdict, View
from specaudit.model.plan import Plan, Role, Stage
from specaudit.model.request import Sampling


class ParameterMatrix(Check[MatrixSettings]):
    """LAW5 parameter matrix.

    Requirement: whatever the sampling parameters are, the subject's completions are distributed as the plain target's
    under the same parameters.

    Null hypothesis: in each cell of the matrix, the one of LAW1. A cell is a combination of temperature, top_p, top_k,
    min_p, penalties, logit_bias, bad_words and grammar; the cells are chosen so that every pair of values of any two
    parameters occurs in one of them at least.

    Statistic: each cell is an audit of its own by LAW1: bets while words come in, chi-square and total variation of
    the whole sample. The check's error budget is divided evenly among the planned cells, whose number never shrinks.

    Violates when a cell violates. The parameters are named that the violating cells share and the others do not.
    Conforms when every cell that can be asked for conforms. A parameter that an arm refuses is left out of its cells,
    and said so. Completions under far values of each parameter tell whether either arm applies it at all: one that
    both ignore is no violation, and nothing is said about it; one that a single arm applies shows as a violation.

    Assumptions: those of LAW1. Faults that need three parameters at once may lie between the cells.

    Source: Cohen et al. 1997 (covering arrays); otherwise as LAW1.

    Kills: logit-bias-dropped, penalties-dropped, grammar-bonus-unmasked. Spares: plain decoding, correct speculation.
    """

    id = CHECK
    title = "parameter matrix"
    settings_type = MatrixSettings

    def samplings(self, settings: MatrixSettings) -> Iterator[Sampling]:
        """Return every parameter by itself; what names tokens names some."""
        some = Common(token=0, word=("a",))
        for cell in cells(settings):
            yield sampling_of(cell, some)

    def next_stage(self, plan: Plan, settings: MatrixSettings, evidence: Evidence) -> Stage | None:
        """Ask which tokens are common, what is refused and what is applied; then cell after cell."""
        if "reference" not in evidence.capabilities or self._cannot(evidence):
            return None
        for stage in (pilot_stage, asked_stage, effect_stage):
            if (found := stage(plan, settings, evidence)) is not None:
                return found
        asked = asked_cells(settings, evidence)
        parts = [part_of(settings, one, len(asked)) for one in asked if not one.dropped]
        begun = [number for number, part in enumerate(parts) if part.begun(evidence)]
        for part in parts[max(begun, default=0) :]:
            if (found := part.next_stage(plan, evidence)) is not None:
                return found
        return None

    def smallest_detectable(self, plan: Plan, settings: MatrixSettings, evidence: Evidence) -> Deviation | None:
        """Return the total variation that is seen in whatever cell it stands."""
        asked = asked_cells(settings, evidence)
        parts = [part_of(settings, one, len(asked)) for one in asked if not one.dropped]
        found = [
            part.check.smallest_detectable(part.plan(plan), part.settings, part.evidence(evidence))
            for part in parts
            if part.begun(evidence)
        ]
        return max((one for one in found if one is not None), key=lambda one: one.value, default=None)

    def judge(self, settings: MatrixSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Judge every cell, and say what those that violate share."""
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if reason := no_common_law(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        if reason := only_copies(evidence):
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, reason)
        asked = asked_cells(settings, evidence)
        judged = [
            JudgedCell.of(one, part_of(settings, one, len(asked)), evidence, budget) for one in asked if not one.dropped
        ]
        if not judged:
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                "No cell of the matrix can be asked for.",
                notes=tuple(_dropped(asked)),
            )
        return self._finding(settings, evidence, budget, asked, judged)

    def _finding(
        self,
        settings: MatrixSettings,
        evidence: Evidence,
        budget: Budget,
        asked: Sequence[AskedCell],
        judged: Sequence["JudgedCell"],
    ) -> Finding:
        verdict = _verdict(judged)
        of_verdict = [cell for cell in judged if cell.verdict is verdict]
        worst = max(of_verdict, key=JudgedCell.severity)
        stages = [name for one in asked for name in evidence.parts(f"{CHECK}.{one.cell.number}.sample")]
        taken = coverage(evidence, *stages)
        missing = missing_path(evidence, stages, taken)
        if verdict is Verdict.CONFORMS and missing:
            verdict = Verdict.INCONCLUSIVE
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=_summary(settings, verdict, asked, judged, worst, missing),
            effect=worst.finding.effect,
            statistic=worst.finding.statistic,
            betting=worst.finding.betting,
            alpha=budget.alpha,
            smallest_detectable=max(
                (cell.finding.smallest_detectable or 0.0 for cell in judged if cell.finding.effect), default=None
            ),
            below_tolerance=verdict is Verdict.VIOLATES and all(cell.finding.below_tolerance for cell in of_verdict),
            witness=None
            if worst.finding.witness is None
            else msgspec.structs.replace(
                worst.finding.witness, what=f"{worst.finding.witness.what}, with {worst.asked.name}"
            ),
            views=tuple(view for cell in judged if (view := cell.view()) is not None),
            exhibits=tuple(filter(None, (_matrix(judged, settings.tolerance),))),
            coverage=paths_taken(taken),
            measured={
                "cells planned": float(len(asked)),
                "cells judged": float(len(judged)),
                **{f"cells that {name}": float(count) for name, count in _counts(judged).items()},
            },
            assumptions=tuple(dict.fromkeys(text for cell in judged for text in cell.finding.assumptions)),
            notes=(
                *_dropped(asked),
                *_applied(effects(settings, evidence)),
                *rare_paths(settings.tolerance, taken),
                *not_under_control(evidence),
            ),
            next_step=_next_step(verdict, evidence, worst),
        )

    def _cannot(self, evidence: Evidence) -> bool:
        """Say whether cells cannot be asked for."""
        return bool(
            incomparable(evidence) or is_self(evidence.plan) or no_common_law(evidence) or only_copies(evidence)
        )


@dataclass(frozen=True, kw_only=True)
class JudgedCell:
    """A cell with what LAW1 found in it."""

    asked: AskedCell
    finding: Finding
    verdict: Verdict

    @classmethod
    def of(cls, asked: AskedCell, part: Part, evidence: Evidence, budget: Budget) -> "JudgedCell":
        """Judge a cell."""
        finding = part.judge(evidence, budget)
        verdict = finding.verdict
        if (
            verdict is Verdict.INCONCLUSIVE
            and _is_bounded(finding)
            and part.next_stage(evidence.plan, evidence) is None
        ):
            verdict = Verdict.CONFORMS  # which paths were taken is asked of all cells together
        return cls(asked=asked, finding=finding, verdict=verdict)

    def severity(self) -> tuple[float, float]:
        """How much worse than others: by the least deviation that is certain, or by the largest that is possible."""
        effect, statistic = self.finding.effect, self.finding.statistic
        if effect is None:
            return (2.0, 0.0)
        if self.verdict is Verdict.VIOLATES:
            p_value = 1.0 if statistic is None or statistic.p_value is None else statistic.p_value
            return (effect.low or 0.0, -p_value)
        return (1.0 if effect.high is None else effect.high, effect.value)

    def view(self) -> View | None:
        """Return the cell's line of the table; None where nothing could be measured."""
        found = self.finding
        if found.effect is None or found.statistic is None:
            return None
        levels = dict.fromkeys(view.law for view in found.views)
        return View(
            name=self.asked.name,
            samples=max((view.samples for view in found.views), default=0),
            law=" and ".join(levels),
            effect=found.effect,
            statistic=found.statistic,
            verdict=self.verdict,
        )


def _matrix(judged: Sequence[JudgedCell], tolerance: float) -> Exhibit | None:
    measured = ((one.asked.cell, one.finding.effect) for one in judged)
    return matrix.exhibit(((cell, effect.value) for cell, effect in measured if effect is not None), tolerance)


def _verdict(judged: Sequence[JudgedCell]) -> Verdict:
    verdicts = {cell.verdict for cell in judged}
    if Verdict.VIOLATES in verdicts:
        return Verdict.VIOLATES
    for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE):
        if verdict in verdicts:
            return verdict
    return Verdict.CONFORMS


def _account(judged: Sequence[JudgedCell]) -> Shared:
    violating, others = (
        [cell.asked.on for cell in judged if (cell.verdict is Verdict.VIOLATES) is violates]
        for violates in (True, False)
    )
    return shared(violating, others)


def _counts(judged: Sequence[JudgedCell]) -> dict[str, int]:
    told = {
        Verdict.CONFORMS: "conform",
        Verdict.VIOLATES: "violate",
        Verdict.INCONCLUSIVE: "stay open",
        Verdict.NOT_APPLICABLE: "cannot be judged",
    }
    counted = Counter(cell.verdict for cell in judged)
    return {name: counted[verdict] for verdict, name in told.items() if counted[verdict]}


def _summary(
    settings: MatrixSettings,
    verdict: Verdict,
    asked: Sequence[AskedCell],
    judged: Sequence[JudgedCell],
    worst: JudgedCell,
    missing: str,
) -> str:
    counts = _counts(judged)
    of = f"{len(judged)} cells" + ("" if len(asked) == len(judged) else f" (of {len(asked)} planned)")
    if verdict is Verdict.VIOLATES:
        effect = worst.finding.effect
        least = "" if effect is None or not effect.low else f", at least {effect.low:.3f}"
        far = "" if effect is None else f" (total variation {effect.value:.3f}{least})"
        return (
            f"Tokens do not have the target's law {_account(judged).told()}: {counts['violate']} of {of} violate, "
            f"most clearly the one with {worst.asked.name}{far}."
        )
    if _verdict(judged) is Verdict.CONFORMS:
        high = max(cell.finding.effect.high or 0.0 for cell in judged if cell.finding.effect is not None)
        within = (
            f"In each of {of} the {settings.word_length}-token words are within total variation {high:.3f} of the "
            "target's law"
        )
        if missing:
            return f"{within}, but this says nothing of the verifier: {missing}."
        return f"{within}; {settings.tolerance:g} is tolerated."
    still = counts.get("stay open", 0) + counts.get("cannot be judged", 0)
    return f"{still} of {of} stay open, one being that with {worst.asked.name}: {worst.finding.summary}"


def _dropped(asked: Sequence[AskedCell]) -> Iterator[str]:
    """What was left out of the matrix, a clause each."""
    left = Counter(name for one in asked for name in one.left_out)
    for name, count in sorted(left.items()):
        yield (
            f"{name} cannot be asked for, so nothing is said about it: the {count} cells that were planned with it "
            "were asked without"
        )
    for one in asked:
        if one.dropped:
            yield f"cell {one.cell.number + 1} ({one.cell.name}) is dropped: {one.dropped}"


def _applied(applied: dict[str, dict[Role, Applied]]) -> Iterator[str]:
    """Which parameters are not applied by both arms, a clause each."""
    for name, of_arm in applied.items():
        missing = [arm for arm, how in of_arm.items() if how == "not seen"]
        unknown = [arm for arm, how in of_arm.items() if how == "unknown"]
        if len(missing) == len(of_arm):
            yield (
                f"{name} changes nothing in either arm: both ignore it, so that cells with it say nothing about it, "
                "and that they are equal is no violation"
            )
        elif missing and not unknown:
            other = next(arm for arm in of_arm if arm not in missing)
            yield f"{name} is applied on one side only: the {other} applies it, and the {missing[0]} ignores it"
        elif unknown:
            yield f"whether {name} is applied is not known: too few completions came back"


def _is_bounded(finding: Finding) -> bool:
    """Say whether a cell stays open for nothing but a verification path that was not taken in it."""
    effect = finding.effect
    bounded = effect is not None and effect.high is not None and effect.high < (effect.tolerance or 0.0)
    return bounded and not all(finding.coverage.values())


def _next_step(verdict: Verdict, evidence: Evidence, worst: JudgedCell) -> str:
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, CHECK, new_samples=True)
    return "" if verdict is Verdict.CONFORMS else worst.finding.next_step.replace("LAW1", CHECK)
