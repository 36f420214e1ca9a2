"""The report: all findings, one overall verdict, one exit code."""

from typing import Any

import msgspec

from specaudit.model.capabilities import Capabilities
from specaudit.model.errors import UsageError
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Arm
from specaudit.model.record import FORM_VERSION, Record, from_json, refuse_newer, version_of
from specaudit.model.segments import Segment

EXIT_CONFORMS = 0
EXIT_VIOLATES = 1
EXIT_USAGE = 2
EXIT_COULD_NOT_TEST = 3
EXIT_INCONCLUSIVE = 4
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

PRECEDENCE = (EXIT_INTERRUPTED, EXIT_INTERNAL, EXIT_VIOLATES, EXIT_COULD_NOT_TEST, EXIT_INCONCLUSIVE, EXIT_CONFORMS)


class Scope(Record, frozen=True, kw_only=True):
    """What was audited, and how: what a reader needs to know of the plan and of probing."""

    title: str
    """Of the suite."""
    planned: str
    """When the plan was made (UTC, ISO 8601)."""
    planned_by: str
    """Version of specaudit that planned and collected."""
    seed: int
    concurrency: int
    """Requests in flight at once."""
    metrics: tuple[str, ...] = ()
    """Addresses of the subject's metrics pages."""
    segment: Segment = "all"
    """The part of completions that is judged."""
    settings: dict[str, dict[str, Any]]
    """Of every planned check, as the suite has them."""
    revealed: dict[str, Capabilities]
    """What probing found of each arm."""
    again: str
    """The command that runs the audit again."""
    failures: dict[str, int] = msgspec.field(default_factory=dict)
    """Attempts that gave no answer, by reason."""


class Report(Record, frozen=True, kw_only=True):
    """A pure function of the evidence: the same evidence gives the same bytes."""

    version: int = FORM_VERSION
    tool: str
    """Version of specaudit that judged."""
    suite: str
    suite_digest: str
    arms: tuple[Arm, ...]
    evidence_digest: str
    """SHA-256 of the last record of the evidence, which covers all of it."""
    complete: bool
    """The evidence ends with a seal: every planned request was answered or counted as lost."""
    stopped: str | None = None
    """Why collecting ended early, in a sentence."""
    alpha: float
    findings: tuple[Finding, ...]
    exit_code: int
    tokens: dict[str, int]
    """Generated tokens by arm, over all attempts."""
    requests: dict[str, int]
    """Attempts by arm."""
    lost: int
    """Requests that never gave an answer."""
    cost: float | None = None
    """Of all requests, probing included, in the currency of the prices; None where no price was given."""
    scope: Scope | None = None
    """None in reports of the first versions."""


def parse_report(data: bytes, where: str) -> Report:
    """Read a report from its JSON form; `where` is what the user knows it as.

    Raises:
        UsageError: it is no report, or one of a newer version.
    """
    refuse_newer(version_of(data), where)
    try:
        return from_json(data, Report)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} is no report: {error}.", hint="specaudit analyze DIR --json") from error


def outcome_word(exit_code: int, findings: tuple[Finding, ...]) -> str:
    """Return what an exit code means here, in capitals."""
    undecided = any(one.required and one.verdict is Verdict.INCONCLUSIVE for one in findings)
    if exit_code == EXIT_CONFORMS and undecided:
        return "INCONCLUSIVE"
    return _WORDS[exit_code]


_WORDS = {
    EXIT_CONFORMS: "CONFORMS",
    EXIT_VIOLATES: "VIOLATES",
    EXIT_COULD_NOT_TEST: "COULD NOT TEST",
    EXIT_INCONCLUSIVE: "INCONCLUSIVE",
    EXIT_INTERNAL: "INTERNAL ERROR",
    EXIT_INTERRUPTED: "INTERRUPTED",
}


def exit_code_of(
    findings: tuple[Finding, ...],
    *,
    could_not_test: bool = False,
    interrupted: bool = False,
    allow_inconclusive: bool = False,
) -> int:
    """Return the process exit code of a set of findings.

    Any violation counts, required or not. Required checks that are not applicable mean that the audit could
    not test what it was asked to; required checks that are inconclusive leave it open.
    """
    required = {finding.verdict for finding in findings if finding.required}
    met = {EXIT_CONFORMS}
    if interrupted:
        met.add(EXIT_INTERRUPTED)
    if any(finding.verdict is Verdict.VIOLATES for finding in findings):
        met.add(EXIT_VIOLATES)
    if could_not_test or not findings or Verdict.NOT_APPLICABLE in required:
        met.add(EXIT_COULD_NOT_TEST)
    if Verdict.INCONCLUSIVE in required and not allow_inconclusive:
        met.add(EXIT_INCONCLUSIVE)
    return next(code for code in PRECEDENCE if code in met)
