"""CLM3: acceptance as claimed."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.commands import rerun, with_option
from specaudit.checks.ctr_traffic import STAGE, TrafficSettings
from specaudit.checks.exhibits import acceptance_by_position
from specaudit.checks.interface import Budget, Check
from specaudit.checks.windows import block_windows
from specaudit.claims.space import lowest
from specaudit.counters.acceptance import Acceptance, Estimate, acceptance
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Stage


class ClaimedAcceptanceSettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CLM3; `--claim FILE` puts the claimed figures here."""

    length: Annotated[float, msgspec.Meta(ge=1)] | None = None
    """Tokens per step of the verifier that were claimed, its own counted."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Accepted drafts per draft that were claimed."""
    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Share of a claimed figure by which the lower bound may miss it."""


class ClaimedAcceptance(Check[ClaimedAcceptanceSettings]):
    """CLM3 acceptance as claimed.

    Requirement: the acceptance length and the draft acceptance rate are at least what was claimed, on the audit's
    prompts and sampling.

    Statistic: the verifier length 1 + accepted/drafts and the rate accepted/proposed over the valid windows of CTR3,
    with its intervals; where both are claimed each has half of the error budget. Violates when an interval lies below
    the claimed figure, as it was rounded; conforms when all lie above theirs less the tolerance. A claimed rate is
    taken for accepted drafts per draft, which is not the chance that a single draft is accepted.

    Assumptions: windows are independent; prompts and sampling are those that the claim is about. A figure that is met
    on other prompts says nothing of these.

    Source: Cochran, Sampling Techniques, chapter 6; vLLM V1 metrics.

    Kills: a claimed length of 4 where 2.5 is measured. Spares: a claimed 2.5.
    """

    id = "CLM3"
    title = "acceptance as claimed"
    settings_type = ClaimedAcceptanceSettings

    def next_stage(self, plan: Plan, settings: ClaimedAcceptanceSettings, evidence: Evidence) -> Stage | None:
        """Make traffic in windows, unless a check of counters did, or nothing was claimed."""
        if settings.length is None and settings.rate is None:
            return None
        return ctr_traffic.next_stage(plan, self.id, settings, evidence)

    def judge(self, settings: ClaimedAcceptanceSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Hold what was measured against what was claimed."""
        if settings.length is None and settings.rate is None:
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                "No acceptance was claimed.",
                with_option(evidence.plan, "--claim", "FILE"),
            )
        if STAGE not in evidence.stages:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        windows = [w.window for w in block_windows(evidence, STAGE) if w.window is not None]
        claimed = sum(figure is not None for figure in (settings.length, settings.rate))
        found = acceptance(windows, confidence=1 - budget.alpha / claimed)
        if found is None:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                "No valid window holds a drafted step, so acceptance is not known.",
                rerun(evidence.plan, "CTR1"),
            )
        figures = list(_figures(settings, found, budget))
        verdicts = [verdict for verdict, _, _ in figures]
        worst = next(one for one in (Verdict.VIOLATES, Verdict.INCONCLUSIVE, Verdict.CONFORMS) if one in verdicts)
        return Finding(
            check=self.id,
            verdict=worst,
            required=settings.required,
            summary=" ".join(words for _, words, _ in figures),
            effect=next(effect for verdict, _, effect in figures if verdict is worst),
            alpha=budget.alpha,
            exhibits=tuple(filter(None, (acceptance_by_position(found),))),
            assumptions=("windows are independent of each other", "prompts and sampling are those of the claim"),
            next_step="" if worst is Verdict.CONFORMS else rerun(evidence.plan, "CTR3"),
        )


def _figures(
    settings: ClaimedAcceptanceSettings, found: Acceptance, budget: Budget
) -> Iterator[tuple[Verdict, str, Effect | None]]:
    """Verdict, sentence and effect of each figure that was claimed."""
    for name, unit, claimed, estimate in (
        ("acceptance length", "tokens per step", settings.length, found.verifier_length),
        ("draft acceptance rate", "of the drafts", settings.rate, found.draft_acceptance_rate),
    ):
        if claimed is not None:
            yield _figure(name, unit, claimed, estimate, settings.tolerance, budget)


def _figure(
    name: str, unit: str, claimed: float, estimate: Estimate | None, tolerance: float, budget: Budget
) -> tuple[Verdict, str, Effect | None]:
    if estimate is None:
        return Verdict.INCONCLUSIVE, f"The engine does not count what the {name} is made of.", None
    interval = estimate.interval
    effect = Effect(
        name=name,
        value=estimate.value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        confidence=1 - budget.alpha / 2,
        tolerance=None,
        unit=unit,
    )
    if interval is None:
        return Verdict.INCONCLUSIVE, f"The {name} has no interval: fewer than 20 windows are valid.", effect
    said = (
        f"The {name} is {interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f}), and {claimed:g} was claimed"
    )
    if interval.high < lowest(claimed):
        return Verdict.VIOLATES, f"{said}.", effect
    if interval.low >= lowest(claimed) * (1 - tolerance):
        return Verdict.CONFORMS, f"{said}.", effect
    return Verdict.INCONCLUSIVE, f"{said}, which more windows would settle.", effect
