"""The report as a verification report for a vendor: the same evidence, told so that it can be answered.

Claim, environment, method, findings, limits, reproduction, provenance, and a place for the vendor's answer.
"""

from collections.abc import Iterator

from specaudit.claims.judgement import Judgement
from specaudit.model.finding import Effect, Finding
from specaudit.model.report import Report
from specaudit.render.claims import sections
from specaudit.render.docstrings import paragraphs
from specaudit.render.document import Answer, Block, Code, Document, Grid, Heading, Items, Picture, Quote, Text
from specaudit.render.document_html import write_html
from specaudit.render.document_markdown import write_markdown
from specaudit.render.exhibits import effects, of_finding
from specaudit.render.html import assumptions, exclusions, title, unplanned, untested
from specaudit.render.page import LONGEST
from specaudit.render.printable import printable_record
from specaudit.render.sentences import UNSEEN, anything_asked, details, drafting, headline, outcome, spent

_SHOWN = 60
"""Most findings that are told in full; the table has them all."""

_REVEALED = (
    "engine",
    "model",
    "tokens",
    "logprobs",
    "logprobs_mode",
    "draft_tokens",
    "counters",
    "temperature",
    "repeats",
)


def render_vendor_html(report: Report, judgement: Judgement | None = None) -> str:
    """Return the verification report as a page; a judged claim is what it verifies, if one is given."""
    return write_html(_document(report, judgement))


def render_vendor_markdown(report: Report, judgement: Judgement | None = None) -> str:
    """Return the verification report as Markdown."""
    return write_markdown(_document(report, judgement))


def _document(report: Report, judgement: Judgement | None) -> Document:
    shown = printable_record(report, longest=LONGEST)
    claim = None if judgement is None else printable_record(judgement, longest=LONGEST)
    parts = (_claim(claim), _environment(shown), _method(shown), _findings(shown), _limits(shown), _reproduction(shown))
    return Document(
        kind="verification report",
        word=outcome(shown).word,
        told=headline(shown),
        blocks=[block for part in (*parts, _provenance(shown), _answer()) for block in part],
    )


def _claim(judgement: Judgement | None) -> Iterator[Block]:
    yield Heading("Claim")
    if judgement is None:
        yield Text(
            "No claim was given. What is verified is what lossless means: that the speculating engine emits what the "
            "plain target would have emitted, with the same probabilities."
        )
        return
    claim = judgement.claim
    yield Text(f"{claim.title or judgement.name}; {claim.source}, {claim.date}. {_said(judgement)}")
    yield Quote(claim.wording)
    yield Text(f"It is {judgement.ruling.value}.")
    if judgement.reasons:
        yield Items(judgement.reasons)
    for name, lines in sections(judgement):
        yield Heading(name, 3)
        yield Items(lines)


def _said(judgement: Judgement) -> str:
    return "In our words:" if judgement.claim.paraphrased else "Word for word:"


def _environment(report: Report) -> Iterator[Block]:
    yield Heading("Environment")
    yield Items([f"{arm.role.capitalize()}: {arm.endpoint or arm.engine}{drafting(arm)}" for arm in report.arms])
    if report.scope is None:
        return
    found = report.scope.revealed
    yield Grid(
        "What probing found of each engine",
        ["what", *found],
        [[name.replace("_", " "), *(_told(getattr(one, name)) for one in found.values())] for name in _REVEALED],
    )
    pages = ", ".join(report.scope.metrics) or "none was named"
    yield Text(f"{report.scope.concurrency} requests in flight. Metrics pages: {pages}.")


def _told(value: object) -> str:
    if value is None:
        return "not known"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _method(report: Report) -> Iterator[Block]:
    yield Heading("Method")
    suite = f"suite {report.suite}{f' ({report.scope.title})' if report.scope else ''}"
    yield Text(
        f"The {suite} was carried out by specaudit {report.tool}. The error budget of the whole audit is "
        f"{report.alpha:g}: the probability that a healthy engine is called a violator by any check. A check conforms "
        "only where its deviation is bounded below the tolerance."
    )
    for check_id in dict.fromkeys(finding.check for finding in report.findings[:_SHOWN]):
        told = paragraphs(check_id)
        lines = [
            f"{name}: {told[name]}"
            for name in ("Requirement", "Null hypothesis", "Statistic", "Method")
            if name in told
        ]
        if lines:
            yield Heading(f"{check_id}: {title(check_id)}", 3)
            yield Items(lines)


def _findings(report: Report) -> Iterator[Block]:
    yield Heading("Findings")
    if report.stopped:
        yield Text(report.stopped)
    rows = [
        [one.check, one.verdict.value, _measured(one.effect), _tolerance(one.effect), one.summary]
        for one in report.findings
    ]
    yield Grid("All findings", ["check", "verdict", "measured", "tolerated", "what was found"], rows)
    if (shown := effects(report)) is not None:
        yield Picture(shown)
    for finding in report.findings[:_SHOWN]:
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[Block]:
    lines = list(details(finding, verbose=True))
    if not lines:
        return
    yield Heading(f"{finding.check}: {finding.verdict.value}", 3)
    yield Text(finding.summary)
    yield Items(lines)
    yield from map(Picture, of_finding(finding))


def _measured(effect: Effect | None) -> str:
    if effect is None:
        return ""
    high = "" if effect.high is None else f", at most {effect.high:.4g}"
    return f"{effect.name} {effect.value:.4g}{high}{f' {effect.unit}' if effect.unit else ''}"


def _tolerance(effect: Effect | None) -> str:
    return "" if effect is None or effect.tolerance is None else f"{effect.tolerance:g}"


def _limits(report: Report) -> Iterator[Block]:
    yield Heading("Limits")
    if assumed := assumptions(report):
        yield Text("The findings assume:")
        yield Items([f"{one} ({', '.join(checks[:8])})" for one, checks in assumed.items()])
    if left := untested(report)[:_SHOWN]:
        yield Text("Left open or not tested:")
        yield Items([f"{one.check}: {one.summary}" for one in left])
    if others := unplanned(report):
        yield Text(f"Not asked for: {', '.join(f'{check} ({name})' for check, name in others.items())}.")
    if left_out := exclusions(report):
        yield Text("Left out of every figure:")
        yield Items([f"{check}: {note}" for check, note in left_out])
    yield Text(f"Unseen in any audit: {'; '.join(UNSEEN)}.")


def _reproduction(report: Report) -> Iterator[Block]:
    yield Heading("Reproduction")
    yield Text("From the evidence, offline, with the same findings byte for byte; then the chain of its hashes:")
    yield Code("specaudit analyze DIR\nspecaudit verify DIR")
    if report.scope is not None:
        yield Text("The audit again:")
        yield Code(report.scope.again)
    steps = [one.next_step for one in report.findings if one.verdict.value == "violates" and one.next_step]
    if steps:
        yield Text("Each violation, on new samples:")
        yield Code("\n".join(dict.fromkeys(steps)))


def _provenance(report: Report) -> Iterator[Block]:
    yield Heading("Provenance")
    sealed = "sealed" if report.complete else "not sealed"
    lines = [
        f"Evidence, {sealed}: SHA-256 of its last record {report.evidence_digest}",
        f"Suite {report.suite}: SHA-256 {report.suite_digest}",
        f"Judged by specaudit {report.tool}",
    ]
    if report.scope is not None:
        lines.append(f"Planned {report.scope.planned}, by specaudit {report.scope.planned_by}")
    if anything_asked(report):
        lines.append(spent(report))
    yield Items(lines)


def _answer() -> Iterator[Block]:
    yield Heading("The vendor's answer")
    yield Answer("To be filled in by the vendor: what is disputed, what was changed, and the evidence for it.")
