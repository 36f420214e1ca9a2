"""A report in sentences: what every format for people tells in the same words, line by line and without markup."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp

from specaudit.model.finding import Betting, Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.model.plan import Arm
from specaudit.model.report import (
    EXIT_CONFORMS,
    EXIT_COULD_NOT_TEST,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_VIOLATES,
    Report,
    outcome_word,
)

UNSEEN = (
    "faults that strike more rarely than 3 in the number of completions",
    "prompts, lengths, sampling parameters and loads that were not visited",
    "a server that recognises an audit and answers it otherwise",
)
"""What stays unseen in any audit."""

_NAMED = 12
"""Checks that a sentence names."""

_PATHS = 3
"""Verification paths that are told without --verbose."""

_NOTES = 3
"""Notes of a finding that are told unless all are asked for."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an exit code means."""

    word: str
    """In capitals: CONFORMS, VIOLATES, INCONCLUSIVE, COULD NOT TEST, INTERRUPTED or INTERNAL ERROR."""
    meaning: str
    """Half a sentence, e.g. `LAW1 found a deviation`."""


def outcome(report: Report) -> Outcome:
    """Return the word for the report's exit code, and what it means here."""
    return Outcome(word=outcome_word(report.exit_code, report.findings), meaning=_meaning(report))


def _meaning(report: Report) -> str:
    required = [finding for finding in report.findings if finding.required]
    undecided = _ids([finding for finding in required if finding.verdict is Verdict.INCONCLUSIVE])
    match report.exit_code:
        case code if code == EXIT_VIOLATES:
            return f"{_ids([one for one in report.findings if one.verdict is Verdict.VIOLATES])} found a deviation"
        case code if code == EXIT_COULD_NOT_TEST and report.stopped:
            return "collecting stopped"
        case code if code == EXIT_COULD_NOT_TEST:
            return (
                f"{_ids([one for one in required if one.verdict is Verdict.NOT_APPLICABLE])} could not be carried out"
            )
        case code if code == EXIT_INTERNAL:
            return "a check crashed; the evidence is kept"
        case code if code == EXIT_INTERRUPTED:
            return "the plan was not carried out to its end"
        case code if code == EXIT_CONFORMS and not undecided:
            return "every required check conforms"
        case code:
            allowed = ", which is allowed here" if code == EXIT_CONFORMS else ""
            return f"{undecided} neither showed nor excluded a deviation{allowed}"


def headline(report: Report) -> str:
    """Return the suite and what the outcome means, as a sentence to stand behind the outcome's word."""
    return f"suite {report.suite}: {outcome(report).meaning}."


def arm(arm: Arm) -> str:
    """Return an arm's role, its address or engine, and how it decodes."""
    engine = "embedded decoder" if arm.engine == "reference" else arm.engine
    return f"{arm.role:<9}  {arm.endpoint or engine}{drafting(arm)}"


def drafting(arm: Arm) -> str:
    """Return how an arm decodes, behind a comma; nothing where that is not known."""
    return {None: "", 0: ", plain decoding"}.get(arm.draft_tokens, f", {arm.draft_tokens} drafts per step")


def details(finding: Finding, *, verbose: bool = False) -> Iterator[str]:
    """Return what a finding rests on, a line each: effect, p-value, witness, coverage, notes.

    Verbose adds every view, all figures, all notes and the assumptions.
    """
    sized = verbose or finding.verdict is Verdict.VIOLATES
    if finding.effect is not None and (finding.effect.low is not None or sized):
        yield _effect(finding.effect)
    if finding.betting is not None:
        yield _betting(finding.betting)
    early = finding.betting is not None and finding.betting.rejected_after is not None
    if finding.statistic is not None and finding.statistic.p_value is not None and (verbose or not early):
        budget = "" if finding.alpha is None else f"; this check's share of the error budget is {finding.alpha:.2g}"
        yield f"p = {finding.statistic.p_value:.2g}{budget}"
    if finding.below_tolerance:
        yield "The deviation is real, yet bounded below the tolerance."
    if finding.witness is not None:
        yield _witness(finding.witness)
    if finding.coverage:
        paths = [_seen(*item) for item in finding.coverage.items()]
        yield f"Exercised at least: {', '.join(paths if verbose else paths[:_PATHS])}"
    shown = finding.notes if verbose else finding.notes[:_NOTES]
    yield from (f"Note: {note}." for note in shown)
    if len(shown) < len(finding.notes):
        yield f"… and {len(finding.notes) - len(shown)} more notes, which --verbose shows"
    if verbose:
        yield from _verbose(finding)


def next_steps(report: Report) -> dict[str, list[str]]:
    """Return what to try next, each with the ids of the checks that say so."""
    steps: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.next_step:
            steps.setdefault(finding.next_step, []).append(finding.check)
    return steps


def spent(report: Report) -> str:
    """Return what the audit cost, as a sentence."""
    by_role = (f"{role} {count:,} in {report.requests[role]:,} requests" for role, count in report.tokens.items())
    lost = f"; {report.lost:,} requests were never answered" if report.lost else ""
    cost = f" Cost: {report.cost:.4g}." if report.cost is not None else ""
    return f"Tokens: {', '.join(by_role)}{lost}.{cost}"


def anything_asked(report: Report) -> bool:
    """Return whether any request was sent at all."""
    return any(report.requests.values())


def _ids(findings: list[Finding]) -> str:
    named = [finding.check for finding in findings[:_NAMED]]
    return ", ".join(named) + (f" and {len(findings) - _NAMED:,} more" if len(findings) > _NAMED else "")


def _verbose(finding: Finding) -> Iterator[str]:
    yield from map(_view, finding.views)
    if finding.measured:
        yield f"Measured: {', '.join(f'{name} {_number(value)}' for name, value in finding.measured.items())}"
    if finding.smallest_detectable is not None:
        yield f"Smallest deviation that would have been seen: {finding.smallest_detectable:.3g}"
    yield from (f"Assumes: {assumption}." for assumption in finding.assumptions)


def _betting(betting: Betting) -> str:
    """What the bets earned, and after how many tokens it was enough."""
    earned = "without limit" if betting.log_e is None else f"a factor of {exp(min(betting.log_e, 700)):.3g}"
    if betting.rejected_after is None:
        return f"Bets against the target's law on {betting.tokens:,} tokens earned at most {earned}"
    return (
        f"Bets against the target's law earned {earned}, enough after {betting.rejected_after:,} tokens; most by: "
        f"{betting.leader}"
    )


def _effect(effect: Effect) -> str:
    """One line: what was measured, how sure that is, and what is tolerated."""
    unit = f" {effect.unit}" if effect.unit else ""
    line = f"{effect.name[0].upper()}{effect.name[1:]}: {effect.value:.4g}{unit}{_equality(effect)}"
    sure = f"({100 * effect.confidence:.6g} % sure)"
    match effect.low, effect.high:
        case None, None:
            pass
        case low, None:
            line += f", at least {low:.4g} {sure}"
        case None | 0.0, high:
            line += f", at most {high:.4g} {sure}"
        case low, high:
            line += f", from {low:.4g} to {high:.4g} (each bound {100 * effect.confidence:.6g} % sure)"
    return line if effect.tolerance is None else f"{line}; {effect.tolerance:g} is tolerated"


def _witness(witness: Witness) -> str:
    if witness.observed is None and witness.expected is None:
        return f"Witness: {witness.what}"
    observed, expected = (
        "not known" if value is None else f"{value:.4g}" for value in (witness.observed, witness.expected)
    )
    return f"Witness: {witness.what}: {observed} instead of {expected} ({witness.unit})"


def _view(view: View) -> str:
    return (
        f"{view.name[0].upper()}{view.name[1:]}, law {view.law}, n = {view.samples:,}: {view.effect.name} "
        f"{view.effect.value:.4g}{_equality(view.effect)}{_bound(view.effect.high)}; {_statistic(view.statistic)}"
    )


def _equality(effect: Effect) -> str:
    expected = effect.under_equality
    return "" if expected is None else f" ({expected:.3g} is usual without any deviation)"


def _bound(high: float | None) -> str:
    return "" if high is None else f", at most {high:.4f}"


def _statistic(statistic: Statistic) -> str:
    degrees = "" if statistic.degrees_of_freedom is None else f" on {statistic.degrees_of_freedom} degrees of freedom"
    p_value = "" if statistic.p_value is None else f", p = {statistic.p_value:.2g}"
    value = "infinite" if statistic.value is None else f"{statistic.value:.1f}"
    return f"{statistic.name} {value}{degrees}{p_value}"


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4g}"


def _seen(name: str, count: int | None) -> str:
    return f"{name} not seen" if count is None else f"{count:,} {name}"
