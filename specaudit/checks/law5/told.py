"""What LAW5 tells of its cells."""

from collections import Counter
from collections.abc import Iterator, Sequence

from specaudit.checks.commands import rerun
from specaudit.checks.law5.effects import Effect
from specaudit.checks.law5.explain import Shared, shared
from specaudit.checks.law5.judged import JudgedCell, counts, verdict_of
from specaudit.checks.law5.requests import CHECK, AskedCell
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Role


def summary(
    settings: MatrixSettings,
    verdict: Verdict,
    asked: Sequence[AskedCell],
    judged: Sequence[JudgedCell],
    worst: JudgedCell,
    missing: str,
) -> str:
    """Return the finding's sentence.

    Args:
        settings: The check's.
        verdict: Of the finding.
        asked: All planned cells.
        judged: Those that were judged.
        worst: The one that decides.
        missing: Which verification path was not taken, in a clause; empty where none is missing.
    """
    by_verdict = counts(judged)
    of = f"{len(judged)} cells" + ("" if len(asked) == len(judged) else f" (of {len(asked)} planned)")
    if verdict is Verdict.VIOLATES:
        effect = worst.finding.effect
        least = "" if effect is None or not effect.low else f", at least {effect.low:.3f}"
        far = "" if effect is None else f" (total variation {effect.value:.3f}{least})"
        return (
            f"Tokens do not have the target's law {_account(judged).told()}: {by_verdict['violate']} of {of} violate, "
            f"most clearly the one with {worst.asked.name}{far}."
        )
    if verdict_of(judged) is Verdict.CONFORMS:
        high = max(cell.finding.effect.high or 0.0 for cell in judged if cell.finding.effect is not None)
        within = (
            f"In each of {of} the {settings.word_length}-token words are within total variation {high:.3f} of the "
            "target's law"
        )
        if missing:
            return f"{within}, but this says nothing of the verifier: {missing}."
        return f"{within}; {settings.tolerance:g} is tolerated."
    still = by_verdict.get("stay open", 0) + by_verdict.get("cannot be judged", 0)
    return f"{still} of {of} stay open, one being that with {worst.asked.name}: {worst.finding.summary}"


def dropped(asked: Sequence[AskedCell]) -> Iterator[str]:
    """Return what was left out of the matrix, a clause each."""
    left = Counter(name for one in asked for name in one.left_out)
    for name, count in sorted(left.items()):
        yield (
            f"{name} cannot be asked for, so nothing is said about it: the {count} cells that were planned with it "
            "were asked without"
        )
    for one in asked:
        if one.dropped:
            yield f"cell {one.cell.number + 1} ({one.cell.name}) is dropped: {one.dropped}"


def applied(effects: dict[str, dict[Role, Effect]]) -> Iterator[str]:
    """Return which parameters are not applied by both arms, a clause each."""
    for name, of_arm in effects.items():
        missing = [arm for arm, how in of_arm.items() if how == "not seen"]
        unknown = [arm for arm, how in of_arm.items() if how == "unknown"]
        if len(missing) == len(of_arm):
            yield (
                f"{name} changes nothing in either arm: both ignore it, so that cells with it say nothing about it, "
                "and that they are equal is no violation"
            )
        elif missing and not unknown:
            other = next(arm for arm in of_arm if arm not in missing)
            yield f"{name} is applied on one side only: the {other} applies it, and the {missing[0]} ignores it"
        elif unknown:
            yield f"whether {name} is applied is not known: too few completions came back"


def next_step(verdict: Verdict, evidence: Evidence, worst: JudgedCell) -> str:
    """Return the next command."""
    if verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, CHECK, new_samples=True)
    return "" if verdict is Verdict.CONFORMS else worst.finding.next_step.replace("LAW1", CHECK)


def _account(judged: Sequence[JudgedCell]) -> Shared:
    violating, others = (
        [cell.asked.on for cell in judged if (cell.verdict is Verdict.VIOLATES) is violates]
        for violates in (True, False)
    )
    return shared(violating, others)
