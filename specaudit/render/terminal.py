"""The report for a person at a terminal: verdict first, then findings, then what to try and where the evidence lies."""

import io
import shlex
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import Report
from specaudit.render.console import console
from specaudit.render.docstrings import paragraphs
from specaudit.render.printable import printable, printable_record
from specaudit.render.sentences import anything_asked, arm, details, headline, next_steps, outcome, spent

STYLES = {
    Verdict.CONFORMS: "green",
    Verdict.VIOLATES: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
}
_OUTCOME_STYLES = {"CONFORMS": "green", "VIOLATES": "bold red", "INTERNAL ERROR": "bold red"}


def render_terminal(report: Report, *, folder: str, verbose: bool = False, width: int = 80, color: bool = False) -> str:
    """Return the report as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    console(out, width, color=color).print(
        Group(*_parts(printable_record(report), printable(folder), verbose)), crop=False
    )
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(report: Report, folder: str, verbose: bool) -> Iterator[RenderableType]:
    yield _headline(report)
    if report.stopped:
        yield _unbroken(report.stopped.replace("--resume DIR", f"--resume {shlex.quote(folder)}"))
    yield from (Text(arm(one), style="dim") for one in report.arms)
    if anything_asked(report) or report.stopped is None:
        yield Text()
        yield _table(report)
        for finding in report.findings:
            if lines := [*_demanded(finding), *details(finding, verbose=verbose)]:
                yield Text()
                yield Text(finding.check, style="bold")
                yield Padding(Group(*map(Text, lines)), (0, 0, 0, 2), expand=False)
        yield from _next_steps(report)
    yield Text()
    yield from _provenance(report, folder)


def _headline(report: Report) -> Text:
    word = outcome(report).word
    return Text.assemble((word, _OUTCOME_STYLES.get(word, "yellow")), f"  {headline(report)}")


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("check", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what was found", overflow="fold")
    for finding in report.findings:
        verdict = Text(finding.verdict.value, style=STYLES[finding.verdict])
        check = finding.check if finding.required else f"{finding.check} (optional)"
        table.add_row(Text(check), verdict, Text(finding.summary))
    return table


def _demanded(finding: Finding) -> Iterator[str]:
    """What a check demands that is violated, in the words of its documentation."""
    if finding.verdict is Verdict.VIOLATES and (requirement := paragraphs(finding.check).get("Requirement")):
        yield f"Demanded: {requirement}"


def _next_steps(report: Report) -> Iterator[RenderableType]:
    """What to try, once for all checks that say the same."""
    for step, checks in next_steps(report).items():
        yield Text()
        yield Text(f"Next, for {', '.join(checks)}:", style="bold")
        yield _unbroken(f"  {step}")


def _provenance(report: Report, folder: str) -> Iterator[RenderableType]:
    if anything_asked(report):
        yield Text(spent(report), style="dim")
    yield _unbroken(f"Evidence: {folder} ({'sealed' if report.complete else 'not sealed'})", style="dim")
    yield _unbroken(f"sha256 {report.evidence_digest}", style="dim")
    yield _unbroken(f"Judge it again: specaudit analyze {shlex.quote(folder)}", style="dim")


def _unbroken(text: str, style: str = "") -> Text:
    """A line that is left to the terminal to break, so that what it holds can be pasted."""
    return Text(text, style=style, no_wrap=True, overflow="ignore")
