"""The report as workflow commands: GitHub's runner shows each as an annotation of the job.

Source: GitHub Docs, "Workflow commands for GitHub Actions". The runner finds commands on stdout and stderr alike, and
keeps ten annotations of each level per step, so violations come first.
"""

from collections.abc import Iterable, Iterator

from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import Report
from specaudit.render.printable import printable_record
from specaudit.render.sentences import details, headline, outcome

_LONGEST = 1000
"""Characters of one text from elsewhere that are shown; an annotation of an endless token helps nobody."""

_LEVELS = {"CONFORMS": "notice", "INCONCLUSIVE": "warning"}
"""Of the whole audit, by its outcome; every other outcome is an error."""


def render_github(report: Report) -> str:
    """Return one command for the outcome, and one for each check that does not conform."""
    shown = printable_record(report, longest=_LONGEST)
    word = outcome(shown).word
    lines = [headline(shown), *([shown.stopped] if shown.stopped else [])]
    commands = [_command(_LEVELS.get(word, "error"), f"specaudit: {word}", lines)]
    for finding in sorted(shown.findings, key=lambda finding: finding.verdict is not Verdict.VIOLATES):
        if finding.verdict is not Verdict.CONFORMS:
            commands.append(_command(_level(finding), f"{finding.check} {finding.verdict.value}", _lines(finding)))
    return "".join(commands)


def _level(finding: Finding) -> str:
    if finding.verdict is Verdict.VIOLATES:
        return "error"
    if not finding.required:
        return "notice"
    return "error" if finding.verdict is Verdict.NOT_APPLICABLE else "warning"


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.summary
    yield from details(finding)
    if finding.next_step:
        yield f"Next: {finding.next_step}"


def _command(level: str, title: str, lines: Iterable[str]) -> str:
    return f"::{level} title={_property(title)}::{_data(chr(10).join(lines))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
