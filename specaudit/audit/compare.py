"""Compare two reports: pure, and in the order of the second."""

from collections.abc import Iterator

from specaudit.model.comparison import Change, Comparison, Row, Side
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.report import (
    EXIT_CONFORMS,
    EXIT_COULD_NOT_TEST,
    EXIT_INCONCLUSIVE,
    EXIT_VIOLATES,
    Report,
    outcome_word,
)

_RANK = {Verdict.VIOLATES: 0, Verdict.NOT_APPLICABLE: 1, Verdict.INCONCLUSIVE: 1, Verdict.CONFORMS: 2}


def compare(first: Report, second: Report, names: tuple[str, str]) -> Comparison:
    """Return the second report beside the first.

    Args:
        first: What was before, or is held for right.
        second: What is looked at.
        names: What the user knows them as.
    """
    before = {finding.check: finding for finding in first.findings}
    after = {finding.check: finding for finding in second.findings}
    rows = tuple(_row(before.get(check), after.get(check)) for check in [*after, *(set_aside(before, after))])
    return Comparison(
        first=_side(first, names[0]),
        second=_side(second, names[1]),
        rows=rows,
        differences=tuple(_differences(first, second)),
        exit_code=_exit_code(rows),
    )


def set_aside(before: dict[str, Finding], after: dict[str, Finding]) -> list[str]:
    """Return the checks of the first audit only, in its order."""
    return [check for check in before if check not in after]


def _exit_code(rows: tuple[Row, ...]) -> int:
    worse = [row for row in rows if row.change == "worse"]
    if any(row.second is Verdict.VIOLATES for row in worse) or any(
        row.change == "new" and row.second is Verdict.VIOLATES for row in rows
    ):
        return EXIT_VIOLATES
    if not any(row.first is not None and row.second is not None for row in rows):
        return EXIT_COULD_NOT_TEST
    lost = any(row.change == "gone" and row.required and row.first is Verdict.CONFORMS for row in rows)
    return EXIT_INCONCLUSIVE if lost or any(row.required for row in worse) else EXIT_CONFORMS


def _row(first: Finding | None, second: Finding | None) -> Row:
    shown = second or first
    assert shown is not None
    effects = (first.effect if first else None, second.effect if second else None)
    return Row(
        check=shown.check,
        change=_change(first, second),
        required=any(one is not None and one.required for one in (first, second)),
        first=first.verdict if first else None,
        second=second.verdict if second else None,
        first_effect=effects[0],
        second_effect=effects[1],
        apart=_apart(*effects),
        first_summary=first.summary if first else "",
        second_summary=second.summary if second else "",
    )


def _change(first: Finding | None, second: Finding | None) -> Change:
    if first is None:
        return "new"
    if second is None:
        return "gone"
    before, after = _RANK[first.verdict], _RANK[second.verdict]
    return "same" if before == after else "better" if after > before else "worse"


def _apart(first: Effect | None, second: Effect | None) -> bool:
    """Whether two intervals exclude each other; a missing lower bound excludes nothing below."""
    if first is None or second is None or first.name != second.name or first.unit != second.unit:
        return False
    return any(
        one.high is not None and other.low is not None and one.high < other.low
        for one, other in ((first, second), (second, first))
    )


def _side(report: Report, name: str) -> Side:
    return Side(
        name=name,
        word=outcome_word(report.exit_code, report.findings),
        exit_code=report.exit_code,
        suite=report.suite,
        arms=report.arms,
        evidence_digest=report.evidence_digest,
        tokens=report.tokens.get("subject", 0),
    )


def _differences(first: Report, second: Report) -> Iterator[str]:
    """What decides how an audit goes, besides the engine."""
    if first.evidence_digest == second.evidence_digest:
        yield "Both are judged from the same evidence."
    told = {
        "suites": (first.suite, second.suite),
        "settings of suites": (first.suite_digest[:12], second.suite_digest[:12]),
        "error budgets": (f"{first.alpha:g}", f"{second.alpha:g}"),
        "versions of specaudit that judged": (first.tool, second.tool),
    }
    if first.scope and second.scope:
        told |= {
            "seeds": (str(first.scope.seed), str(second.scope.seed)),
            "requests in flight": (str(first.scope.concurrency), str(second.scope.concurrency)),
            "parts of answers that were judged": (first.scope.segment, second.scope.segment),
        }
    for what, (before, after) in told.items():
        if before != after:
            yield f"The {what} differ: {before} and {after}."
    for name, one in (("first", first), ("second", second)):
        if not one.complete:
            yield f"The {name} audit is not complete."
