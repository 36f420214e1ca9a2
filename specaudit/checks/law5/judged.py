"""Cells of the matrix, each with what LAW1 found in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.checks.interface import Budget
from specaudit.checks.law5.requests import AskedCell
from specaudit.checks.part import Part, view_of
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict, View


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
        samples = max((view.samples for view in self.finding.views), default=0)
        return view_of(self.asked.name, self.finding, samples=samples, verdict=self.verdict)


def verdict_of(judged: Sequence[JudgedCell]) -> Verdict:
    """Return what the cells say together."""
    verdicts = {cell.verdict for cell in judged}
    if Verdict.VIOLATES in verdicts:
        return Verdict.VIOLATES
    for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE):
        if verdict in verdicts:
            return verdict
    return Verdict.CONFORMS


def counts(judged: Sequence[JudgedCell]) -> dict[str, int]:
    """Return how many cells came to each verdict, by the end of a sentence."""
    told = {
        Verdict.CONFORMS: "conform",
        Verdict.VIOLATES: "violate",
        Verdict.INCONCLUSIVE: "stay open",
        Verdict.NOT_APPLICABLE: "cannot be judged",
    }
    counted = Counter(cell.verdict for cell in judged)
    return {name: counted[verdict] for verdict, name in told.items() if counted[verdict]}


def _is_bounded(finding: Finding) -> bool:
    """Say whether a cell stays open for nothing but a verification path that was not taken in it."""
    effect = finding.effect
    bounded = effect is not None and effect.high is not None and effect.high < (effect.tolerance or 0.0)
    return bounded and not all(finding.coverage.values())
