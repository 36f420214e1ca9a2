"""CLM1: what the vendor claims is physically possible."""

from specaudit.checks.commands import rerun
from specaudit.checks.interface import Budget, Check
from specaudit.claims.architecture import Architecture
from specaudit.claims.hardware import Device
from specaudit.claims.judge import judge
from specaudit.claims.judgement import Judgement, Ruling
from specaudit.claims.tables import devices, models
from specaudit.model.claim import Claim
from specaudit.model.errors import UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict, Witness
from specaudit.model.plan import Plan, Stage
from specaudit.model.suite import CheckSettings


class ClaimSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of CLM1. They are recorded with the plan, so that evidence is judged alike wherever it is."""

    claim: Claim | None = None
    """What was said; `specaudit run --claim FILE` puts it here."""
    hardware: tuple[Device, ...] = ()
    """Devices beside those of the shipped table."""
    models: tuple[Architecture, ...] = ()
    """Models beside those of the shipped table."""


class PhysicallyPossible(Check[ClaimSettings]):
    """CLM1 the claim is physically possible.

    Requirement: the tokens a second, the speed-up and the acceptance that were claimed can be had together on the
    hardware that was named.

    Statistic: none; one division. The bytes that a step must read over the bytes a second that memory gives bound the
    steps, and the drafts and their acceptance bound the tokens of a step. Violates when no batch, context, precision,
    number of devices, draft length or acceptance makes the claim true where they are not stated. Conforms when it is
    true at what is declared usual (specaudit claim check names it); inconclusive when something unstated would have to
    be better than that. Nothing is asked of the engine, and no error budget is spent.

    Assumptions: the figures of the hardware table, with every weight read once a step.

    Source: Williams, Waterman, Patterson, Roofline, CACM 2009; Leviathan et al. 2023.

    Kills: a host's table of 1,700 tokens/s without speculation of a 70B model on one H200. Spares: 181.74 tokens/s of
    the same model with a draft model.
    """

    id = "CLM1"
    title = "the claim is physically possible"
    settings_type = ClaimSettings
    against_itself = True

    def next_stage(self, plan: Plan, settings: ClaimSettings, evidence: Evidence) -> Stage | None:
        """Ask nothing."""
        return None

    def judge(self, settings: ClaimSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Hold the claim against memory and arithmetic."""
        if settings.claim is None:
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                "No claim was given.",
                f"{rerun(evidence.plan, self.id)} --claim FILE",
            )
        try:
            found = judge(settings.claim, "the claim", devices(settings.hardware), models(settings.models))
        except UsageError as error:
            return self.cannot_say(settings, Verdict.NOT_APPLICABLE, error.message, error.hint)
        return Finding(
            check=self.id,
            verdict=_VERDICTS[found.ruling],
            required=settings.required,
            summary=_summary(found),
            measured=_figures(found),
            witness=_witness(found),
            assumptions=("the hardware is as its data sheet says, and every weight is read once a step",),
            notes=tuple(reason.rstrip(".") for reason in found.reasons),
            next_step="" if found.ruling is Ruling.PLAUSIBLE else "specaudit claim check FILE",
        )


_VERDICTS = {
    Ruling.IMPOSSIBLE: Verdict.VIOLATES,
    Ruling.CONDITIONAL: Verdict.INCONCLUSIVE,
    Ruling.NOT_MEASURABLE: Verdict.INCONCLUSIVE,
    Ruling.PLAUSIBLE: Verdict.CONFORMS,
}


def _summary(found: Judgement) -> str:
    match found.ruling:
        case Ruling.IMPOSSIBLE:
            return f"What is claimed is impossible. {_sharpest(found)}"
        case Ruling.PLAUSIBLE:
            return "Memory and arithmetic allow what is claimed, at usual efficiency."
        case Ruling.NOT_MEASURABLE:
            return "The claim names no baseline, so that nobody else can measure it."
        case _:
            conditions = "; ".join(one.words for one in found.only_if)
            return f"Memory and arithmetic allow what is claimed only with {conditions}."


def _sharpest(found: Judgement) -> str:
    """The reason that refuses: the one with the figure that is too large, or the last."""
    refusing = (reason for reason in found.reasons if " times the " in reason or "do not fit" in reason)
    return next(refusing, found.reasons[-1] if found.reasons else "")


def _figures(found: Judgement) -> dict[str, float]:
    figures = {"tokens a step needed": found.tokens_needed, "times the ceiling": found.over_ceiling}
    return {name: value for name, value in figures.items() if value is not None}


def _witness(found: Judgement) -> Witness | None:
    if found.over_ceiling is None:
        return None
    return Witness(what="the claimed figure", observed=found.over_ceiling, expected=1.0, unit="times the ceiling")
