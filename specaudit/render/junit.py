"""The report as JUnit XML, which continuous integration shows as tests: a suite per audit, a case per check.

A violation is a failure; a required check that could not be carried out is an error; what was not decided, and what
is optional and not applicable, is skipped with the reason. An audit that ended early has one more case, `audit`, in
error: otherwise it might look like one in which everything was merely skipped.
"""

import io
from collections.abc import Iterator

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from specaudit.checks.registry import family
from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import EXIT_INTERNAL, Report
from specaudit.render.printable import printable_record
from specaudit.render.sentences import details, headline, outcome


def render_junit(report: Report) -> str:
    """Return the report as JUnit XML in UTF-8, whatever characters an engine answered with."""
    shown = printable_record(report)
    suite = TestSuite(f"specaudit {shown.suite}")
    for name, value in _provenance(shown):
        suite.add_property(name, value)
    suite.add_testcases(list(_cases(shown)))
    document = JUnitXml("specaudit")
    document.add_testsuite(suite)
    out = io.BytesIO()
    document.write(out, pretty=True)
    return out.getvalue().decode()


def _provenance(report: Report) -> Iterator[tuple[str, str]]:
    yield "specaudit", report.tool
    yield "exit code", str(report.exit_code)
    yield "suite sha256", report.suite_digest
    yield "evidence sha256", report.evidence_digest
    yield from ((one.role, one.endpoint or one.engine) for one in report.arms)


def _cases(report: Report) -> Iterator[TestCase]:
    if report.stopped or report.exit_code == EXIT_INTERNAL:
        case = TestCase("audit", "specaudit")
        error = Error(f"{outcome(report).word}: {headline(report)}", "audit")
        error.text = report.stopped or ""
        case.result = error
        yield case
    yield from map(_case, report.findings)


def _case(finding: Finding) -> TestCase:
    case = TestCase(finding.check, family(finding.check))
    text = "\n".join(_lines(finding))
    if finding.verdict is Verdict.CONFORMS:
        case.system_out = text
        return case
    result = _kind(finding)(finding.summary, finding.verdict.value)
    result.text = text
    case.result = result
    return case


def _kind(finding: Finding) -> type[Failure | Error | Skipped]:
    if finding.verdict is Verdict.VIOLATES:
        return Failure
    return Error if finding.verdict is Verdict.NOT_APPLICABLE and finding.required else Skipped


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.summary
    yield from details(finding, verbose=True)
    if finding.next_step:
        yield f"Next: {finding.next_step}"
