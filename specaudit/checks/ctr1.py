"""CTR1: windows of counters hold no reset, no foreign traffic and no contradiction."""

from collections import Counter
from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.ctr_traffic import STAGE, TrafficSettings
from specaudit.checks.exhibits import acceptance_by_window
from specaudit.checks.interface import Budget, Check
from specaudit.checks.windows import BlockWindow, block_windows, whole_windows
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Stage


class ValiditySettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CTR1."""

    tolerance: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.1
    """Share of windows that may be void or unverified."""


class WindowValidity(Check[ValiditySettings]):
    """CTR1 window validity.

    Requirement: the counters between two readings tell what the engine did in between, and nothing else.

    Method: a window is void on any decrease, a changed creation time or process start, a changed set of series,
    tokens that the client did not receive, an engine that was not quiet at both ends, sleep, several engines behind
    one page, or sums that contradict each other. Without a mark of the process's life it is unverified unless it
    reconciles with the tokens that the client received. Void windows are listed with their reasons and never
    repaired. Violates when counters contradict themselves, in single windows and over all of them, although nothing
    points to a restart: then they count something else than they say. Counters that lag contradict single windows
    only. Conforms when the share of windows that are not valid is within the tolerance.

    Assumptions: the metrics page is the subject's own, and the client's traffic is all that it served.

    Source: OpenMetrics 1.0 (`_created`), vLLM V1 metrics.

    Kills: bonus-in-numerator. Spares: correct counters; a restart between two readings (void, not wrong).
    """

    id = "CTR1"
    title = "window validity"
    settings_type = ValiditySettings

    def next_stage(self, plan: Plan, settings: ValiditySettings, evidence: Evidence) -> Stage | None:
        """Make traffic in windows, unless another check of the family did."""
        return ctr_traffic.next_stage(plan, self.id, settings, evidence)

    def smallest_detectable(self, plan: Plan, settings: ValiditySettings, evidence: Evidence) -> Deviation | None:
        """Return one token: windows are compared with what was received, token by token."""
        if STAGE not in evidence.stages:
            return None
        return Deviation(name="token miscounted in a window", value=1.0)

    def judge(self, settings: ValiditySettings, evidence: Evidence, budget: Budget) -> Finding:
        """Count windows by what they are worth."""
        if STAGE not in evidence.stages:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        windows = block_windows(evidence, STAGE)
        if not windows:
            return self.cannot_say(settings, Verdict.INCONCLUSIVE, "No window was completed.")
        wrong = (
            [w for w in windows if _contradicts(w)] if any(map(_contradicts, whole_windows(evidence, STAGE))) else []
        )
        unfit = [w for w in windows if w.status != "valid"]
        share = len(unfit) / len(windows)
        verdict, summary = _verdict(settings, windows, wrong, unfit, share)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=Effect(
                name="share of windows that are not valid",
                value=share,
                low=None,
                high=None,
                confidence=1.0,
                tolerance=settings.tolerance,
            ),
            measured={
                "windows": len(windows),
                **{f"{status} windows": count for status, count in Counter(w.status for w in windows).items()},
            },
            exhibits=tuple(filter(None, (acceptance_by_window(windows),))),
            notes=tuple(f"window {w.block} is {w.status}: {'; '.join(w.reasons)}" for w in unfit[:10]),
            assumptions=("the metrics page is the subject's own", "no other client used the subject"),
            next_step="" if verdict is Verdict.CONFORMS else "Audit a server that serves nobody else meanwhile",
        )


def _contradicts(window: BlockWindow) -> bool:
    return window.window is not None and window.window.contradicts


def _verdict(
    settings: ValiditySettings,
    windows: list[BlockWindow],
    wrong: list[BlockWindow],
    unfit: list[BlockWindow],
    share: float,
) -> tuple[Verdict, str]:
    if wrong:
        return Verdict.VIOLATES, (
            f"The counters contradict themselves in {len(wrong)} of {len(windows)} windows: {wrong[0].reasons[0]}."
        )
    if share > settings.tolerance:
        return Verdict.INCONCLUSIVE, (
            f"{len(unfit)} of {len(windows)} windows cannot be used, first because {unfit[0].reasons[0]}."
        )
    return Verdict.CONFORMS, f"{len(windows) - len(unfit)} of {len(windows)} windows are valid."
