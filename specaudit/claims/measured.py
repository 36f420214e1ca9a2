"""A claim's numbers beside what an audit measured."""

from collections.abc import Iterator

from specaudit.claims.judgement import Judgement, Measured, Ruling
from specaudit.claims.space import lowest, speed_up_of
from specaudit.model.claim import Claim, Numbers, least
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.report import Report

_LAWS = ("LAW1", "LAW3", "LAW2", "GRD1")
"""Checks of losslessness; the first two bound the law of sampled tokens."""


def with_evidence(judgement: Judgement, report: Report) -> Judgement:
    """Return the judgement with what an audit measured beside each number it shows.

    A number is refuted where the interval's upper end is below it, and confirmed where its lower end is not. One that
    is refuted makes the claim false; the claim is true where every number that the audit shows is confirmed.
    """
    found = tuple(_measured(judgement.claim, {one.check: one for one in report.findings}))
    decided = [one.confirmed for one in found]
    ruling = judgement.ruling
    if False in decided:
        ruling = Ruling.MEASURED_FALSE
    elif decided and all(decided) and ruling is not Ruling.IMPOSSIBLE:
        ruling = Ruling.MEASURED_TRUE
    shown = {one.number for one in found}
    missing = [name for name in _numbers(judgement.claim.numbers) if name not in shown]
    aside = (f"The evidence shows nothing of {', '.join(missing)}.",) if missing else ()
    return Judgement(
        **{name: getattr(judgement, name) for name in judgement.__struct_fields__}
        | {
            "ruling": ruling,
            "reasons": judgement.reasons + aside,
            "measured": found,
            "evidence_digest": report.evidence_digest,
        }
    )


def _numbers(numbers: Numbers) -> list[str]:
    names = (name for name in numbers.__struct_fields__ if name != "per" and getattr(numbers, name) is not None)
    return [name.replace("_", " ") for name in names]


def _measured(claim: Claim, findings: dict[str, Finding]) -> Iterator[Measured]:
    numbers = claim.numbers
    if (length := least(numbers.acceptance_length)) is not None and (found := _length(findings)) is not None:
        yield _beside("acceptance length", length, found, "tokens a step")
    if (rate := least(numbers.acceptance_rate)) is not None and (found := _rate(findings)) is not None:
        yield _beside("acceptance rate", rate, found, "of the drafts")
    speed, factor = findings.get("CLM2"), speed_up_of(claim)
    if speed is not None and speed.effect is not None and factor is not None:
        yield _beside("speed up", factor, speed.effect, "times as fast")
    if numbers.lossless is not None:
        yield from _lossless(numbers.lossless, findings)


def _length(findings: dict[str, Finding]) -> Effect | None:
    """The acceptance length that CTR3 measured, or CLM3; None where neither has an interval."""
    for check in ("CTR3", "CLM3"):
        effect = findings[check].effect if check in findings else None
        if effect is not None and effect.name == "acceptance length" and effect.low is not None:
            return effect
    return None


def _rate(findings: dict[str, Finding]) -> Effect | None:
    """The share of drafts that were accepted, as CTR3 measured it beside the length, or CLM3."""
    name = "draft acceptance rate"
    if (found := findings.get("CTR3")) is not None and found.effect is not None and f"{name}, low" in found.measured:
        value, low, high = (found.measured[part] for part in (name, f"{name}, low", f"{name}, high"))
        return Effect(name=name, value=value, low=low, high=high, confidence=found.effect.confidence)
    found = findings.get("CLM3")
    effect = None if found is None else found.effect
    return effect if effect is not None and effect.name == name and effect.low is not None else None


def _beside(number: str, claimed: float, effect: Effect, unit: str) -> Measured:
    confirmed = None
    if effect.high is not None and effect.high < lowest(claimed):
        confirmed = False
    elif effect.low is not None and effect.low >= lowest(claimed):
        confirmed = True
    word = {True: "confirmed", False: "refuted", None: "not decided"}[confirmed]
    span = "" if effect.low is None or effect.high is None else f" ({effect.low:.3f} to {effect.high:.3f})"
    return Measured(
        number=number,
        claimed=f"{claimed:g}",
        value=effect.value,
        low=effect.low,
        high=effect.high,
        confirmed=confirmed,
        words=f"{number}: {claimed:g} claimed, {effect.value:.3f}{span} {unit} measured: {word}",
    )


def _lossless(claimed: bool, findings: dict[str, Finding]) -> Iterator[Measured]:
    """One violation refutes losslessness; that the law of sampled words conforms confirms it, up to its tolerance."""
    verdicts = {check: findings[check].verdict for check in _LAWS if check in findings}
    if not verdicts:
        return
    broken = [check for check, verdict in verdicts.items() if verdict is Verdict.VIOLATES]
    bounded = [check for check in ("LAW1", "LAW3") if verdicts.get(check) is Verdict.CONFORMS]
    lossless = False if broken else True if bounded else None
    told = ", ".join(f"{check} {verdict.value}" for check, verdict in verdicts.items())
    word = "not decided" if lossless is None else "confirmed" if lossless is claimed else "refuted"
    said = "lossless" if claimed else "not lossless"
    yield Measured(
        number="lossless",
        claimed=str(claimed).lower(),
        value=None,
        low=None,
        high=None,
        confirmed=None if lossless is None else lossless is claimed,
        words=f"{said} claimed; {told}: {word}",
    )
