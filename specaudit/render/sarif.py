"""The report as SARIF 2.1.0, which code scanning reads: a rule per check, a result per finding.

A violation is a result of kind `fail`, what stayed undecided one of kind `open`, what conforms one of kind `pass`. What
the configuration did not let the audit test is a notification of configuration too, with what to change; a check that
crashed, and why collecting stopped, are notifications of execution. Results point at the evidence, since code scanning
wants a file.

Source: OASIS, "Static Analysis Results Interchange Format Version 2.1.0", sections 3.20 (invocation), 3.27 (result).
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from specaudit.checks import registry
from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import EXIT_CONFORMS, EXIT_INCONCLUSIVE, EXIT_INTERNAL, EXIT_VIOLATES, Report
from specaudit.render.docstrings import paragraphs
from specaudit.render.html import title
from specaudit.render.printable import printable_json, printable_record
from specaudit.render.sentences import details, headline, outcome

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_EVIDENCE = "evidence.jsonl"

_KINDS = {
    Verdict.CONFORMS: "pass",
    Verdict.VIOLATES: "fail",
    Verdict.INCONCLUSIVE: "open",
    Verdict.NOT_APPLICABLE: "notApplicable",
}

_LONGEST = 4000
"""Characters of one text from elsewhere that are shown."""


def render_sarif(report: Report) -> str:
    """Return the report as a SARIF log with one run."""
    shown = printable_record(report, longest=_LONGEST)
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(shown)]}
    return printable_json(msgspec.json.format(msgspec.json.encode(log), indent=2).decode()) + "\n"


def _run(report: Report) -> dict[str, Any]:
    rules = list(dict.fromkeys(finding.check for finding in report.findings))
    return {
        "tool": {
            "driver": {
                "name": "specaudit",
                "version": report.tool,
                "rules": [_rule(check_id) for check_id in rules],
            }
        },
        "automationDetails": {"id": f"specaudit/{report.suite}"},
        "artifacts": [{"location": {"uri": _EVIDENCE}, "description": {"text": "What was asked and answered."}}],
        "invocations": [_invocation(report)],
        "results": [_result(report, finding, rules.index(finding.check)) for finding in report.findings],
        "properties": {"evidenceSha256": report.evidence_digest, "suiteSha256": report.suite_digest},
    }


def _rule(check_id: str) -> dict[str, Any]:
    told = paragraphs(check_id)
    rule: dict[str, Any] = {
        "id": check_id,
        "shortDescription": {"text": title(check_id) or check_id},
        "defaultConfiguration": {"level": "error"},
    }
    if "Requirement" in told:
        lines = [f"{name}: {text}" for name, text in told.items() if name]
        rule |= {"fullDescription": {"text": told["Requirement"]}, "help": {"text": "\n\n".join(lines)}}
    if check_id in registry.BUILT_IN:
        rule["properties"] = {"tags": [registry.family(check_id)]}
    return rule


def _result(report: Report, finding: Finding, rule: int) -> dict[str, Any]:
    fails = finding.verdict is Verdict.VIOLATES
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "kind": _KINDS[finding.verdict],
        "level": "error" if fails else "none",
        "message": {"text": "\n".join(_lines(finding))},
        "locations": [_location(report)],
        "partialFingerprints": {"checkOfSubject/v1": _fingerprint(report, finding)},
        "properties": {"verdict": finding.verdict.value, "required": finding.required},
    }
    if finding.effect is not None:
        bounds = {"value": finding.effect.value, "low": finding.effect.low, "high": finding.effect.high}
        result["properties"] |= {"effect": {"name": finding.effect.name, **bounds}}
    return result


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.summary
    yield from details(finding)
    if finding.next_step:
        yield f"Next: {finding.next_step}"


def _location(report: Report) -> dict[str, Any]:
    subject = next((arm.endpoint or arm.engine for arm in report.arms if arm.role == "subject"), "subject")
    return {
        "physicalLocation": {"artifactLocation": {"uri": _EVIDENCE, "index": 0}},
        "logicalLocations": [{"fullyQualifiedName": subject, "kind": "resource"}],
    }


def _fingerprint(report: Report, finding: Finding) -> str:
    """The same for the same check of the same subject, whatever it found: a scanner tells new results from old ones."""
    subject = [arm.endpoint or arm.engine for arm in report.arms if arm.role == "subject"]
    return hashlib.sha256(" ".join([finding.check, *subject]).encode("utf-8", "replace")).hexdigest()[:32]


def _invocation(report: Report) -> dict[str, Any]:
    missing = [one for one in report.findings if one.verdict is Verdict.NOT_APPLICABLE]
    stopped = [] if report.stopped is None else [{"level": "error", "message": {"text": report.stopped}}]
    crashed = [
        {"level": "error", "message": {"text": one.summary}, "associatedRule": {"id": one.check}}
        for one in report.findings
        if report.exit_code == EXIT_INTERNAL and one.verdict is Verdict.INCONCLUSIVE
    ]
    return {
        "executionSuccessful": report.exit_code in (EXIT_CONFORMS, EXIT_VIOLATES, EXIT_INCONCLUSIVE),
        "exitCode": report.exit_code,
        "exitCodeDescription": f"{outcome(report).word}: {headline(report)}",
        "toolConfigurationNotifications": [
            {
                "level": "error" if one.required else "note",
                "message": {"text": f"{one.summary} {one.next_step}".rstrip()},
                "associatedRule": {"id": one.check},
            }
            for one in missing
        ],
        "toolExecutionNotifications": [*stopped, *crashed],
    }
