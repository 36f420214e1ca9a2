"""The report as an in-toto Statement with a test-result predicate: what whoever audited can sign.

Its subject is the last record of the evidence, whose SHA-256 covers all records before it; `specaudit verify` prints
it. Its configuration is the suite. What conforms has passed, what violates has failed, and everything else is a
warning: it was not shown either way.

Source: in-toto Attestation Framework, "Statement v1" and "Predicate type: Test Result" 0.1.
"""

from typing import Any

import msgspec

from specaudit.model.finding import Verdict
from specaudit.model.report import EXIT_CONFORMS, EXIT_INCONCLUSIVE, Report
from specaudit.render.printable import printable_json, printable_record

_RESULTS = {EXIT_CONFORMS: "PASSED", EXIT_INCONCLUSIVE: "WARNED"}
"""By exit code; every other is a failure."""

_LONGEST = 1000
"""Characters of one text from elsewhere that are shown."""


def render_intoto(report: Report) -> str:
    """Return the statement."""
    shown = printable_record(report, longest=_LONGEST)
    statement: dict[str, Any] = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "last record of evidence.jsonl", "digest": {"sha256": shown.evidence_digest}}],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": _RESULTS.get(shown.exit_code, "FAILED"),
            "configuration": [
                {
                    "name": f"suite {shown.suite}",
                    "digest": {"sha256": shown.suite_digest},
                    "annotations": {"specaudit": shown.tool, "errorBudget": shown.alpha, "sealed": shown.complete},
                }
            ],
            "passedTests": _checks(shown, Verdict.CONFORMS),
            "warnedTests": _checks(shown, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE),
            "failedTests": _checks(shown, Verdict.VIOLATES),
        },
    }
    return printable_json(msgspec.json.format(msgspec.json.encode(statement), indent=2).decode()) + "\n"


def _checks(report: Report, *verdicts: Verdict) -> list[str]:
    return [finding.check for finding in report.findings if finding.verdict in verdicts]
