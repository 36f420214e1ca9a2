"""CTR3: acceptance, per position and overall, measured from valid windows only."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.commands import rerun
from specaudit.checks.ctr_traffic import STAGE, TrafficSettings
from specaudit.checks.exhibits import acceptance_by_position
from specaudit.checks.interface import Budget, Check, budget_of
from specaudit.checks.windows import counted_windows
from specaudit.counters.acceptance import Acceptance, Estimate, acceptance
from specaudit.counters.window import Window
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Stage

_ASSUMED_DRAFTS = 3
"""Drafts per step until the counters tell."""


class AcceptanceSettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CTR3."""

    tolerance: Annotated[float, msgspec.Meta(gt=0)] = 0.2
    """Half-width of the acceptance length's interval up to which the figure counts as measured, in tokens."""
    stated: tuple[float, float] | None = None
    """Smallest and largest acceptance length that was promised, in tokens per step."""


class AcceptanceLength(Check[AcceptanceSettings]):
    """CTR3 acceptance, per position and overall.

    Requirement: the acceptance length is known from windows that contain no reset, and is what was stated.

    Statistic: the verifier length 1 + accepted/drafts over the valid windows, or, where the engine does not count what
    was accepted, the user's length (generated - sequences)/drafts. Beside it, each with its interval: the user's
    length, which lacks what stops and caps cut off; the draft acceptance rate accepted/proposed, which is not the
    per-token rate; for each position i the share of drafted steps that accept at least i drafts, and the share among
    those that accepted i - 1. Intervals are the ratio estimator's, clustered by window, with Student quantiles, from
    20 windows on. Where no page counts speculation and the answers count their own (vLLM's request metrics, SGLang's
    meta_info), every answer is a window. Violates when the interval excludes the stated range. Conforms when the
    interval is narrow enough and, where a range is stated, lies within it up to the tolerance.

    Assumptions: windows are independent of each other; prompts and sampling are like those of interest.

    Source: Cochran, Sampling Techniques, chapter 6; vLLM V1 metrics.

    Kills: an acceptance stated too high. Spares: one stated right.
    """

    id = "CTR3"
    title = "acceptance, per position and overall"
    settings_type = AcceptanceSettings

    def next_stage(self, plan: Plan, settings: AcceptanceSettings, evidence: Evidence) -> Stage | None:
        """Make traffic in windows, unless another check of the family did."""
        return ctr_traffic.next_stage(plan, self.id, settings, evidence, by_answers=True)

    def smallest_detectable(self, plan: Plan, settings: AcceptanceSettings, evidence: Evidence) -> Deviation | None:
        """Return the widest half of an interval that the windows can give, were every step all or nothing.

        Steps are taken for independent; with K drafts a step emits K + 1 tokens at most, and the standard deviation of
        what it accepts is K/2 at most.
        """
        from scipy.special import stdtrit

        if (made := ctr_traffic.made(evidence)) is None:
            return None
        stage, drafts = evidence.stages[made], evidence.capabilities["subject"].draft_tokens or _ASSUMED_DRAFTS
        windows = len(stage.blocks) if made == STAGE else stage.size
        if windows < 2:
            return None
        steps = sum(slot.request.n * slot.request.max_tokens for slot in stage.slots()) / (drafts + 1)
        quantile = stdtrit(windows - 1, 1 - budget_of(plan, self.id).alpha / 2)
        widest = float(quantile * drafts / 2 / steps**0.5)
        return Deviation(name="acceptance length", value=widest, unit="tokens per step")

    def judge(self, settings: AcceptanceSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Estimate acceptance, and compare it with what was stated."""
        stage = ctr_traffic.made(evidence)
        if stage is None:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        windows = [w.window for w in counted_windows(evidence, stage) if w.window is not None]
        measured = acceptance(windows, confidence=1 - budget.alpha)
        if measured is None:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                _nothing_measured(windows),
                rerun(evidence.plan, "CTR1" if stage == STAGE else self.id),
            )
        length = measured.length
        if length is None:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                "The engine counts neither what was accepted nor how many sequences it served.",
            )
        interval = length.interval
        verdict, summary = _verdict(
            settings, measured.windows, "valid windows" if stage == STAGE else "answers", length
        )
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
            exhibits=tuple(filter(None, (acceptance_by_position(measured),))),
            assumptions=(
                "windows are independent of each other",
                "prompts and sampling are like those of interest",
            ),
            next_step="" if verdict is Verdict.CONFORMS else "specaudit explain CTR3",
        )


def _nothing_measured(windows: Sequence[Window]) -> str:
    """Why there is no acceptance length, in a sentence."""
    told = [(w.accepted, w.draft_tokens) for w in windows if w.drafts is None]
    accepted, proposed = (sum(count or 0 for count in counts) for counts in zip(*told, strict=True)) if told else (0, 0)
    if not proposed:
        return "No valid window holds a drafted step, so acceptance is not known."
    return (
        f"The answers say that {accepted:,.0f} of {proposed:,.0f} draft tokens were accepted, a share of "
        f"{accepted / proposed:.3f}, and not in how many steps: the acceptance length is not known."
    )


def _verdict(settings: AcceptanceSettings, windows: int, unit: str, length: Estimate) -> tuple[Verdict, str]:
    interval = length.interval
    if interval is None:
        return Verdict.INCONCLUSIVE, f"Only {windows} {unit} hold drafts; fewer than 20 give no interval."
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
    return Verdict.CONFORMS, f"The acceptance length is {figure}, from {windows} {unit}."


def _figures(measured: Acceptance) -> dict[str, float]:
    counts = {
        "valid windows": measured.windows,
        "drafted steps": measured.drafts,
        "draft tokens": measured.draft_tokens,
        "accepted tokens": measured.accepted,
    }
    estimates = {
        "verifier length": measured.verifier_length,
        "draft acceptance rate": measured.draft_acceptance_rate,
        "emitted tokens per drafted step": measured.user_length,
        **{f"steps accepting at least {i}": share for i, share in enumerate(measured.per_position, start=1)},
        **{
            f"steps accepting {i} of those that accepted {i - 1}": share
            for i, share in enumerate(measured.per_position_conditional, start=1)
        },
    }
    figures = {name: float(count) for name, count in counts.items() if count is not None}
    for name, estimate in estimates.items():
        if estimate is not None:
            figures[name] = estimate.value
            if estimate.interval is not None:
                figures |= {f"{name}, low": estimate.interval.low, f"{name}, high": estimate.interval.high}
    return figures
