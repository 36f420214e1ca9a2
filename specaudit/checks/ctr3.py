"""CTR3: acceptance, per position and overall, measured from valid windows only."""

from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.commands import rerun
from specaudit.checks.ctr_traffic import STAGE, TrafficSettings
from specaudit.checks.interface import Budget, Check
from specaudit.checks.windows import block_windows
from specaudit.counters.acceptance import Acceptance as Measured
from specaudit.counters.acceptance import acceptance
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Stage


class AcceptanceSettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CTR3."""

    tolerance: Annotated[float, msgspec.Meta(gt=0)] = 0.2
    """Half-width of the acceptance length's interval up to which the figure counts as measured, in tokens."""
    stated: tuple[float, float] | None = None
    """Smallest and largest acceptance length that was promised, in tokens per step."""


class Acceptance(Check[AcceptanceSettings]):
    """CTR3 acceptance, per position and overall.

    Requirement: the acceptance length is known from windows that contain no reset, and is what was stated.

    Statistic: verifier length 1 + accepted/drafts over the valid windows, with the ratio estimator's interval
    (clustered by window, Student quantiles, at least 20 windows); beside it the draft acceptance rate
    accepted/drafted and the share of steps that accept at least i drafts. Violates when the interval excludes the
    stated range. Conforms when the interval is narrow enough and, where a range is stated, lies within it up to the
    tolerance.

    Assumptions: windows are independent of each other; prompts and sampling are like those of interest.

    Source: Cochran, Sampling Techniques, chapter 6; vLLM V1 metrics.

    Kills: an acceptance stated too high. Spares: one stated right.
    """

    id = "CTR3"
    title = "acceptance, per position and overall"
    settings_type = AcceptanceSettings

    def next_stage(self, plan: Plan, settings: AcceptanceSettings, evidence: Evidence) -> Stage | None:
        """Make traffic in windows, unless another check of the family did."""
        return ctr_traffic.next_stage(plan, self.id, settings, evidence)

    def judge(self, settings: AcceptanceSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Estimate acceptance, and compare it with what was stated."""
        if STAGE not in evidence.stages:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        windows = [w.window for w in block_windows(evidence, STAGE) if w.window is not None]
        measured = acceptance(windows, confidence=1 - budget.alpha)
        if measured is None:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                "No valid window holds a drafted step, so acceptance is not known.",
                rerun(evidence.plan, "CTR1"),
            )
        length = measured.verifier_length
        interval = length.interval
        verdict, summary = _verdict(settings, measured)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=Effect(
                name="acceptance length",
                value=length.value,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                confidence=1 - budget.alpha / 2,
                tolerance=None,
                unit="tokens per step",
            ),
            alpha=budget.alpha,
            measured=_figures(measured),
            assumptions=(
                "windows are independent of each other",
                "prompts and sampling are like those of interest",
            ),
            next_step="" if verdict is Verdict.CONFORMS else "specaudit explain CTR3",
        )


def _verdict(settings: AcceptanceSettings, measured: Measured) -> tuple[Verdict, str]:
    interval = measured.verifier_length.interval
    if interval is None:
        return Verdict.INCONCLUSIVE, (
            f"Only {measured.windows} valid windows hold drafts; fewer than 20 give no interval."
        )
    figure = f"{interval.value:.3f} tokens per step ({interval.low:.3f} to {interval.high:.3f})"
    if settings.stated is not None:
        low, high = settings.stated
        said = f"The acceptance length is {figure}, and {low:g} to {high:g} was stated"
        if interval.high < low or interval.low > high:
            return Verdict.VIOLATES, f"{said}."
        if interval.low < low - settings.tolerance or interval.high > high + settings.tolerance:
            return Verdict.INCONCLUSIVE, f"{said}, which more windows would settle."
    if (interval.high - interval.low) / 2 > settings.tolerance:
        return Verdict.INCONCLUSIVE, f"The acceptance length is known too coarsely: {figure}."
    return Verdict.CONFORMS, f"The acceptance length is {figure}, from {measured.windows} valid windows."


def _figures(measured: Measured) -> dict[str, float]:
    figures = {
        "valid windows": float(measured.windows),
        "drafted steps": float(measured.drafts),
        "draft tokens": float(measured.draft_tokens),
        "accepted tokens": float(measured.accepted),
    }
    if measured.draft_acceptance_rate is not None:
        figures["draft acceptance rate"] = measured.draft_acceptance_rate.value
    if measured.emitted_per_step is not None:
        figures["emitted tokens per drafted step"] = measured.emitted_per_step.value
    for position, estimate in enumerate(measured.per_position, start=1):
        figures[f"steps accepting at least {position}"] = estimate.value
    return figures
