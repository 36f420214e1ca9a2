"""LAW5: what is demanded, and what is concluded."""

from collections.abc import Iterator, Sequence

import msgspec

from specaudit.checks.control import no_common_law, not_under_control, only_copies
from specaudit.checks.interface import Budget, Check, incomparable
from specaudit.checks.law5 import matrix
from specaudit.checks.law5.cells import Common, cells, sampling_of
from specaudit.checks.law5.effects import effects
from specaudit.checks.law5.judged import JudgedCell, counts, verdict_of
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
from specaudit.checks.law5.told import applied, dropped, next_step, summary
from specaudit.checks.selfsame import is_self
from specaudit.checks.windows import coverage, missing_path, paths_taken, rare_paths
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Exhibit
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Plan, Stage
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
                notes=tuple(dropped(asked)),
            )
        return self._finding(settings, evidence, budget, asked, judged)

    def _finding(
        self,
        settings: MatrixSettings,
        evidence: Evidence,
        budget: Budget,
        asked: Sequence[AskedCell],
        judged: Sequence[JudgedCell],
    ) -> Finding:
        verdict = verdict_of(judged)
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
            summary=summary(settings, verdict, asked, judged, worst, missing),
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
                **{f"cells that {name}": float(count) for name, count in counts(judged).items()},
            },
            assumptions=tuple(dict.fromkeys(text for cell in judged for text in cell.finding.assumptions)),
            notes=(
                *dropped(asked),
                *applied(effects(settings, evidence)),
                *rare_paths(settings.tolerance, taken),
                *not_under_control(evidence),
            ),
            next_step=next_step(verdict, evidence, worst),
        )

    def _cannot(self, evidence: Evidence) -> bool:
        """Say whether cells cannot be asked for."""
        return bool(
            incomparable(evidence) or is_self(evidence.plan) or no_common_law(evidence) or only_copies(evidence)
        )


def _matrix(judged: Sequence[JudgedCell], tolerance: float) -> Exhibit | None:
    measured = ((one.asked.cell, one.finding.effect) for one in judged)
    return matrix.exhibit(((cell, effect.value) for cell, effect in measured if effect is not None), tolerance)
