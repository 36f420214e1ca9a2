"""CTR2: the counters add up among themselves, and to what was emitted."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from specaudit.checks import ctr_traffic
from specaudit.checks.commands import rerun
from specaudit.checks.ctr_traffic import ANSWERS, STAGE, TrafficSettings
from specaudit.checks.interface import Budget, Check
from specaudit.checks.seeds import first_seed
from specaudit.checks.shares import decided, share
from specaudit.checks.windows import counted_windows, coverage, missing_path, paths_taken, whole_windows
from specaudit.counters.acceptance import acceptance
from specaudit.counters.defects import Defect, defects_in
from specaudit.counters.window import Window
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, PlannedRequest, Stage
from specaudit.model.request import Request
from specaudit.prompts.choose import choose_prompts

LONG = "CTR2"


class IdentitySettings(TrafficSettings, frozen=True, kw_only=True):
    """Settings of CTR2."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.25
    """Share of windows in which the counters may disagree."""
    long_windows: Annotated[int, msgspec.Meta(ge=1, le=100)] = 8
    """Windows of long sequences, beside those of the family."""
    long_choices: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8
    long_tokens: Annotated[int, msgspec.Meta(ge=32)] = 128
    """What a sequence loses at its end is at most K tokens; what is lost in every step shows in long ones."""


class Identities(Check[IdentitySettings]):
    """CTR2 accounting identities.

    Requirement: with a accepted and e <= a + 1 emitted tokens per step, what is counted adds up.

    Identities: accepted tokens are the sum over the positions; no position is reached by fewer steps than the next,
    nor by more than were drafted; accepted <= proposed; generated >= accepted + drafts - K * sequences, since only a
    sequence's last step can be cut, and by K tokens at most; drafts <= generated - sequences, since every step emits a
    token and a sequence's first comes from prefill; a draft has a token. Steps without a draft have no bound, so
    generated has none from above; nor has proposed, since a tree has more tokens than positions. Where no page counts
    speculation and the answers count their own, every answer is a window, and where it is also told how many steps
    emitted (OpenVINO GenAI in process), generated <= accepted + steps, prefill included.

    Statistic: the share of windows in which an identity fails. Violates when one fails over all windows of a stage
    together, as counters that lag behind do not, or in an answer, which cannot lag. Conforms when the Clopper-Pearson
    upper bound of the share is below the tolerance, drafts were rejected and bonus tokens drawn.

    Assumptions: the metrics page is the subject's own, and the client's traffic is all that it served.

    Source: vLLM V1 metrics; OpenVINO GenAI 2026.4.1, ExtendedPerfMetrics; Clopper and Pearson 1934.

    Kills: bonus-in-numerator, nonprefix-accept-count, replay-counted, perpos-dp-overwrite, no-bonus; by answers,
    last-step-uncounted. Spares: counting past a stop or cap; undrafted steps; drafts of any length.
    """

    id = "CTR2"
    title = "accounting identities"
    settings_type = IdentitySettings

    def next_stage(self, plan: Plan, settings: IdentitySettings, evidence: Evidence) -> Stage | None:
        """Make traffic in windows, unless another check of the family did, then windows of long sequences."""
        stage = ctr_traffic.next_stage(plan, self.id, settings, evidence, by_answers=True)
        if stage is not None:
            return stage
        subject = evidence.capabilities.get("subject")
        if LONG in evidence.stages or subject is None or not subject.counters:
            return None
        prompts = choose_prompts(settings.long_windows, [subject], plan.seed + 6, plan.suite.prompts.sets)
        choices = min(settings.long_choices, subject.max_choices)
        seed = first_seed(plan, self.id, "subject", part=1)
        blocks = tuple(
            (
                PlannedRequest(
                    arm="subject",
                    prompt_index=index,
                    request=Request(
                        prompt=(),
                        sampling=settings.sampling,
                        seed=seed + index * choices,
                        n=choices,
                        max_tokens=settings.long_tokens,
                    ),
                ),
            )
            for index in range(settings.long_windows)
        )
        return Stage(name=LONG, blocks=blocks, scrape=True, prompts=prompts)

    def smallest_detectable(self, plan: Plan, settings: IdentitySettings, evidence: Evidence) -> Deviation | None:
        """Return one token: most identities are exact."""
        if ctr_traffic.made(evidence) is None:
            return None
        return Deviation(name="token miscounted in all windows", value=1.0)

    def judge(self, settings: IdentitySettings, evidence: Evidence, budget: Budget) -> Finding:
        """Hold every identity against every window, and against all windows of a stage together."""
        stages = [stage for stage in (STAGE, LONG, ANSWERS) if stage in evidence.stages]
        if not stages:
            return self.cannot_say(settings, *ctr_traffic.why_not(evidence))
        by_answers = ANSWERS in stages
        counted = [window for stage in stages for window in counted_windows(evidence, stage)]
        windows = [one.window for one in counted if one.window is not None]
        usable = [window for window in windows if window.status != "void" or window.contradicts]
        if not usable:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                f"No {'answer that counts its own speculation' if by_answers else 'window of counters'} can be used.",
                "" if by_answers else rerun(evidence.plan, "CTR1"),
            )
        failing = [window for window in usable if _failures(window)]
        # An answer is whole by itself; pages may lag behind.
        whole = (
            failing
            if by_answers
            else [w.window for stage in stages for w in whole_windows(evidence, stage) if w.window is not None]
        )
        taken = coverage(evidence, *stages) or (acceptance(windows, confidence=0.99) if by_answers else None)
        unit = "answers" if by_answers else "windows"
        effect = share(
            f"share of {unit} in which the counters disagree",
            len(failing),
            len(usable),
            delta=budget.delta,
            tolerance=settings.tolerance,
        )
        verdict, summary = _verdict(settings, f"{len(usable)} {unit}", failing, whole, effect)
        if verdict is Verdict.CONFORMS and (missing := missing_path(evidence, stages, taken)):
            verdict, summary = Verdict.INCONCLUSIVE, f"{summary} But {missing}."
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=effect,
            coverage=paths_taken(taken),
            measured={f"usable {unit}": float(len(usable)), unit: float(len(windows))},
            notes=_notes(usable),
            assumptions=()
            if by_answers
            else ("the metrics page is the subject's own", "no other client used the subject"),
            next_step="" if verdict is Verdict.CONFORMS else "specaudit explain CTR2",
        )


def _verdict(
    settings: IdentitySettings, usable: str, failing: Sequence[Window], whole: Sequence[Window], effect: Effect
) -> tuple[Verdict, str]:
    wrong = [failure for window in whole for failure in _failures(window)]
    if wrong:
        return Verdict.VIOLATES, f"The counters do not add up in {len(failing)} of {usable}: {wrong[0]}."
    if failing:
        return Verdict.INCONCLUSIVE, (
            f"The counters do not add up in {len(failing)} of {usable} and do over all of them, as if they "
            f"lagged behind: {_failures(failing[0])[0]}."
        )
    if decided(effect, settings.tolerance) is not Verdict.CONFORMS:
        return Verdict.INCONCLUSIVE, f"The counters add up, but in {usable} only."
    return Verdict.CONFORMS, f"The counters add up in all of {usable}."


def _failures(window: Window) -> list[str]:
    """The identities that fail, a sentence each without its full stop."""
    named = [f"{defect.what} ({defect.name})" for defect in _wrong(window)]
    return named or (list(window.reasons) if window.contradicts else [])


def _wrong(window: Window) -> list[Defect]:
    return [defect for defect in defects_in(window) if defect.meaning == "wrong"]


def _notes(windows: Sequence[Window]) -> tuple[str, ...]:
    """What is no fault of the counters and makes figures of them differ, said once."""
    found = {
        defect.name: defect.what for window in windows for defect in defects_in(window) if defect.meaning == "bias"
    }
    return tuple(f"{what} ({name})" for name, what in found.items())
