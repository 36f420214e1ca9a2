"""The report as one HTML page that needs nothing else: to be read offline, sent on and printed.

Verdict first, then scope and assumptions, findings, what was not tested, errors and exclusions, provenance.
"""

from collections import Counter
from functools import cache

from specaudit.checks import registry
from specaudit.model.errors import UsageError
from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import Report
from specaudit.render.exhibits import effects
from specaudit.render.page import LONGEST, page
from specaudit.render.printable import printable_record
from specaudit.render.sentences import UNSEEN, anything_asked, headline, next_steps, outcome, spent

MARKS = {Verdict.CONFORMS: "✓", Verdict.VIOLATES: "✗", Verdict.INCONCLUSIVE: "?", Verdict.NOT_APPLICABLE: "–"}

_MANY = 12
"""Findings from which on a reader wants to filter them."""

_EXCLUSIONS = 200
"""Most windows that are listed by themselves."""


def render_html(report: Report) -> str:
    """Return the page."""
    shown = printable_record(report, longest=LONGEST)
    return page("audit.html.j2", **context(shown))


def context(report: Report) -> dict[str, object]:
    """Return what templates want to know of a report whose texts are safe to print."""
    counted = Counter(finding.verdict for finding in report.findings)
    return {
        "report": report,
        "outcome": outcome(report),
        "headline": headline(report),
        "counts": [(verdict.value, MARKS[verdict], counted[verdict]) for verdict in Verdict],
        "marks": MARKS,
        "titles": {finding.check: title(finding.check) for finding in report.findings},
        "effects": effects(report),
        "assumptions": assumptions(report),
        "untested": list(untested(report)),
        "unplanned": unplanned(report),
        "exclusions": exclusions(report),
        "unseen": UNSEEN,
        "next_steps": next_steps(report),
        "spent": spent(report) if anything_asked(report) else "",
        "many": len(report.findings) >= _MANY,
    }


@cache
def title(check_id: str) -> str:
    """Return a check's title; nothing for one that is not installed here."""
    try:
        return registry.get(check_id).title
    except UsageError:
        return ""


def assumptions(report: Report) -> dict[str, list[str]]:
    """Return what findings assume, each with the checks that do."""
    found: dict[str, list[str]] = {}
    for finding in report.findings:
        for assumption in finding.assumptions:
            found.setdefault(assumption, []).append(finding.check)
    return found


def untested(report: Report) -> list[Finding]:
    """Return the findings that leave something open."""
    return [one for one in report.findings if one.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)]


def exclusions(report: Report) -> list[tuple[str, str]]:
    """Return what enters no figure, each with the check that left it out."""
    notes = ((finding.check, note) for finding in report.findings for note in finding.notes)
    return [(check, note) for check, note in notes if note.startswith("window ")][:_EXCLUSIONS]


def unplanned(report: Report) -> dict[str, str]:
    """Return the titles of the installed checks that the audit did not ask for."""
    asked = {finding.check for finding in report.findings}
    return {check_id: title(check_id) for check_id in registry.locations() if check_id not in asked}
