"""LAW6: what is demanded, and what is concluded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import no_common_law, not_under_control
from specaudit.checks.interface import Budget, Check
from specaudit.checks.law6.parts import (
    BETWEEN,
    CHECK,
    FULL,
    TARGET,
    Comparison,
    comparisons,
    greedy_answers,
    greedy_stage,
)
from specaudit.checks.law6.settings import PrecisionSettings
from specaudit.checks.part import view_of
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Finding, Verdict, View
from specaudit.model.plan import Plan, Role, Stage
from specaudit.stats.intervals import proportion_lower

Relation = Literal["follows", "differs", "open"]

_TIES = 0.1
"""Share of prompts that numeric ties may decide otherwise at temperature 0 without anything being wrong."""


class Precision(Check[PrecisionSettings]):
    """LAW6 quantisation attribution.

    Requirement: the subject's tokens have the law of the plain target that is served as its reference; and it is told
    which law that is: that of a quantised target, or that of the target before it was quantised.

    Null hypothesis: given everything before it, each token of the subject has the law that the plain reference gives
    it. Beside it, the same of the target in full precision (the arm `full-precision`), and of the reference's own
    tokens under the law of full precision.

    Statistic: each of the three is an audit of its own by LAW3, on a third of the check's error budget: a law is
    followed when the distance from it is bounded below the tolerance, and not followed when bets or the whole sample
    exclude it.

    Violates when the reference's law is excluded. Which kind of fault it is, is told by the law of full precision and
    by answers at temperature 0: a subject that follows neither law, and answers otherwise at temperature 0, has a
    target that computes something else while drafts are verified, as with one FP8 scale over the whole batch; one that
    answers alike at temperature 0 accepts drafts against another law than they were drawn from, as with drafts that are
    drawn in FP8 and declared in BF16. Conforms when the reference's law is followed. A quantised drafter that declares
    the law it draws from changes no law; a quantised target is another law than that of full precision, and lossless is
    then said relative to the quantised one.

    Assumptions: those of LAW3; both plain arms decode without speculation.

    Source: Micikevicius et al. 2022 (FP8 formats); Leviathan et al. 2023; otherwise as LAW3.

    Kills: fp8-batch-scale; fp8-q-declared-bf16 in one audit of two at its default sizes, and it is found by LAW1, which
    suite `fp8` asks beside it. Spares: fp8-draft, fp8-target.
    """

    id = CHECK
    title = "quantisation attribution"
    settings_type = PrecisionSettings
    against_itself = True
    plans_from_answers = True
    beside: ClassVar[tuple[Role, ...]] = ("full-precision",)

    def next_stage(self, plan: Plan, settings: PrecisionSettings, evidence: Evidence) -> Stage | None:
        """Ask what one comparison needs after the other, then at temperature 0."""
        if any(role not in evidence.capabilities for role in ("subject", "reference", "full-precision")):
            return None
        parts = [one.part(settings) for one in comparisons(plan)]
        begun = [number for number, part in enumerate(parts) if part.begun(evidence)]
        for part in parts[max(begun, default=0) :]:
            if (stage := part.next_stage(plan, evidence)) is not None:
                return stage
        return greedy_stage(plan, settings, evidence)

    def smallest_detectable(self, plan: Plan, settings: PrecisionSettings, evidence: Evidence) -> Deviation | None:
        """Return the total variation from the reference's law that is seen at whatever depth."""
        part = TARGET.part(settings)
        if not part.begun(evidence):
            return None
        return part.check.smallest_detectable(part.plan(plan), part.settings, part.evidence(evidence))

    def judge(self, settings: PrecisionSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Judge every comparison, and say which law is followed."""
        plan = evidence.plan
        if (cannot := self.cannot_compare(settings, evidence)) is not None:
            return cannot
        if plan.arm("full-precision") is None:
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                "There is no plain engine of the target in full precision to compare with.",
                with_option(plan, "--arm", "full-precision=URL_OF_THE_PLAIN_SERVER"),
            )
        if reason := no_common_law(evidence):
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, reason)
        found = {one.number: Compared.of(one, settings, evidence, budget) for one in comparisons(plan)}
        target, full = found[TARGET.number], found[FULL.number]
        if target.finding.effect is None:
            return self.cannot_say(
                settings,
                target.finding.verdict,
                target.finding.summary,
                target.finding.next_step.replace("LAW3", CHECK),
            )
        greedy = greedy_answers(evidence)
        differ = bool(greedy.pairs) and proportion_lower(greedy.different, greedy.pairs, budget.alpha) > _TIES
        between = found.get(BETWEEN.number)
        return Finding(
            check=self.id,
            verdict=target.finding.verdict,
            required=settings.required,
            summary=_summary(settings, target, full, between, differ=differ if greedy.pairs else None),
            effect=target.finding.effect,
            statistic=target.finding.statistic,
            betting=target.finding.betting,
            alpha=budget.alpha,
            smallest_detectable=target.finding.smallest_detectable,
            below_tolerance=target.finding.below_tolerance,
            witness=target.finding.witness,
            views=tuple(view for one in found.values() if (view := one.view()) is not None),
            exhibits=(_exhibit(found),),
            coverage=target.finding.coverage,
            measured={
                "prompts compared at temperature 0": float(greedy.pairs),
                "prompts answered differently at temperature 0": float(greedy.different),
            },
            assumptions=(*target.finding.assumptions, "both plain arms decode without speculation"),
            notes=tuple(dict.fromkeys((*target.finding.notes, *not_under_control(evidence)))),
            next_step=_next_step(target, evidence),
        )


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A comparison with what LAW3 found in it."""

    comparison: Comparison
    finding: Finding
    relation: Relation

    @classmethod
    def of(cls, comparison: Comparison, settings: PrecisionSettings, evidence: Evidence, budget: Budget) -> "Compared":
        """Judge a comparison."""
        part = comparison.part(settings)
        finding = part.judge(evidence, budget)
        effect = finding.effect
        relation: Relation = "open"
        if finding.verdict is Verdict.VIOLATES:
            relation = "differs"
        elif effect is not None and effect.high is not None and effect.high < settings.tolerance:
            relation = "follows" if part.next_stage(evidence.plan, evidence) is None else "open"
        return cls(comparison=comparison, finding=finding, relation=relation)

    def view(self) -> View | None:
        """Return its line of the table; None where nothing could be measured."""
        told = {"follows": Verdict.CONFORMS, "differs": Verdict.VIOLATES, "open": Verdict.INCONCLUSIVE}
        samples = int(self.finding.measured.get("tokens scored", 0))
        return view_of(self.comparison.name, self.finding, samples=samples, verdict=told[self.relation])

    @property
    def high(self) -> float:
        """Upper bound of the distance."""
        return 1.0 if self.finding.effect is None or self.finding.effect.high is None else self.finding.effect.high

    @property
    def told(self) -> str:
        """Why the law is not followed, in brackets, as far as that is a figure."""
        effect, betting = self.finding.effect, self.finding.betting
        if betting is not None and betting.rejected_after is not None:
            return f"(bets showed it after {betting.rejected_after:,} tokens)"
        return "" if effect is None or not effect.low else f"(total variation at least {effect.low:.3f})"


def _summary(
    settings: PrecisionSettings, target: Compared, full: Compared, between: Compared | None, *, differ: bool | None
) -> str:
    if target.relation == "differs":
        return _violation(target, full, differ=differ)
    if target.finding.verdict is not Verdict.CONFORMS:
        beside = {
            "follows": "the law of full precision is followed",
            "differs": "that of full precision is excluded",
            "open": "so is that of full precision",
        }[full.relation]
        return f"Whether the reference's law is followed stays open, and {beside}. {target.finding.summary}"
    follows = f"The subject follows the plain reference's law within total variation {target.high:.3f}"
    match full.relation:
        case "differs":
            return (
                f"{follows}, and not that of full precision {full.told}: the served target is another law than the one "
                "before quantisation, and losslessness holds relative to the served one only."
            )
        case "follows":
            same = "" if between is None or between.relation != "differs" else ", though these two can be told apart"
            return (
                f"{follows} and that of full precision within {full.high:.3f}{same}: up to {settings.tolerance:g} "
                "nothing is lost to quantisation, be it of the target or of the drafter."
            )
        case _:
            return f"{follows}; whether that is also the law of full precision stays open."


def _violation(target: Compared, full: Compared, *, differ: bool | None) -> str:
    excluded = f"The subject does not follow the plain reference's law {target.told}".rstrip()
    match full.relation:
        case "follows":
            beside = (
                f" but is within total variation {full.high:.3f} of that of full precision: either the two do not "
                "serve the same target, of which the reference's is quantised, or another thing is wrong"
            )
        case "differs":
            beside = f", nor that of full precision {full.told}".rstrip()
        case _:
            beside = ", and whether it follows that of full precision stays open"
    match differ:
        case True:
            kind = (
                "at temperature 0 it answers otherwise too, so that its target computes something else while drafts "
                "are verified, as with one FP8 scale over the whole batch"
            )
        case False:
            kind = (
                "at temperature 0 it answers alike, so that its target computes the same: drafts are judged by another "
                "law than they were drawn from, as when they are drawn in FP8 and declared in BF16, or by a wrong rule"
            )
        case _:
            kind = "answers at temperature 0, which would tell of what kind the fault is, are not known"
    return f"{excluded}{beside}; {kind}."


def _exhibit(found: Mapping[int, Compared]) -> Exhibit:
    known = [(one.comparison.name, one.finding.effect) for one in found.values()]
    rows = [(name, effect) for name, effect in known if effect is not None]
    return Exhibit(
        title="Which law is followed",
        form="intervals",
        columns=(
            Column(name="comparison", values=tuple(name for name, _ in rows)),
            Column(name="total variation", values=tuple(effect.value for _, effect in rows)),
            Column(name="low", values=tuple(effect.low for _, effect in rows)),
            Column(name="high", values=tuple(effect.high for _, effect in rows)),
            Column(name="tolerance", values=tuple(effect.tolerance for _, effect in rows)),
        ),
        note="In 16 bins of rank, at the range of depths that decides.",
    )


def _next_step(target: Compared, evidence: Evidence) -> str:
    if target.relation == "differs":
        return rerun(evidence.plan, CHECK, new_samples=True)
    return target.finding.next_step.replace("LAW3", CHECK)
