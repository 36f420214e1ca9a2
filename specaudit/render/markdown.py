"""The report as Markdown, e.g. for the summary page of a job: verdict first, a table, then the violations in full.

Written for GitHub's flavour. Texts from elsewhere are escaped: they make no links, no mentions and no HTML.
"""

import re
from collections.abc import Iterator

from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Arm
from specaudit.model.report import Report
from specaudit.render.printable import printable_record
from specaudit.render.sentences import anything_asked, details, drafting, headline, next_steps, outcome, spent

_LONGEST = 1000
"""Characters of one text from elsewhere that are shown; GitHub refuses a summary beyond one mebibyte as a whole."""

_MARKUP = re.compile(
    r"""
      ^[-+=]                    # a list, a rule or a heading
    | [\\`*_\[\]<>|~&$@\#]      # emphasis, code, links, HTML, cells, mathematics, mentions and issues
    | (?<=:)/(?=/) | (?<=www)\. # addresses, which become links by themselves
    """,
    re.VERBOSE | re.IGNORECASE,
)


def render_markdown(report: Report) -> str:
    """Return the report as a section that can be appended to a page."""
    shown = printable_record(report, longest=_LONGEST)
    return "\n\n".join(_blocks(shown)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield f"## specaudit: {outcome(report).word}"
    yield inert(headline(report))
    if report.stopped:
        yield inert(report.stopped)
    if anything_asked(report) or report.stopped is None:
        yield _table(report)
        for finding in report.findings:
            if finding.verdict is Verdict.VIOLATES:
                yield f"### {inert(finding.check)}"
                yield "\n".join(f"- {inert(line)}" for line in details(finding))
        for step, checks in next_steps(report).items():
            yield f"Next, for {inert(', '.join(checks))}:"
            yield block_of(step)
    yield "\n".join(f"- {line}" for line in _provenance(report))


def _table(report: Report) -> str:
    rows = ["| check | verdict | what was found |", "|---|---|---|", *map(_row, report.findings)]
    return "\n".join(rows)


def _row(finding: Finding) -> str:
    check = inert(finding.check) if finding.required else f"{inert(finding.check)} (optional)"
    verdict = f"**{finding.verdict.value}**" if finding.verdict is Verdict.VIOLATES else finding.verdict.value
    return f"| {check} | {verdict} | {inert(finding.summary)} |"


def _provenance(report: Report) -> Iterator[str]:
    yield from map(_arm, report.arms)
    if anything_asked(report):
        yield inert(spent(report))
    yield f"Evidence, {'sealed' if report.complete else 'not sealed'}: sha256 {_code(report.evidence_digest)}"
    yield f"Judged by specaudit {inert(report.tool)}"


def _arm(arm: Arm) -> str:
    return f"{arm.role.capitalize()}: {_code(arm.endpoint or arm.engine)}{drafting(arm)}"


def inert(text: str) -> str:
    """Return a text on one line, with every character that Markdown would obey behind a backslash."""
    return _MARKUP.sub(r"\\\g<0>", text)


def _code(text: str) -> str:
    """The text as a code span, whatever backticks it holds."""
    ticks = "`" * (_longest_ticks(text) + 1)
    padding = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{padding}{text}{padding}{ticks}"


def block_of(text: str) -> str:
    """Return the text as a block of code, to be copied from."""
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
