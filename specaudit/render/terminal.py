"""The report for a person at a terminal: verdict first, then findings, then what to try and where the evidence lies."""

import io
import shlex
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.model.mapping import mapped
from specaudit.model.plan import Arm
from specaudit.model.report import (
    EXIT_CONFORMS,
    EXIT_COULD_NOT_TEST,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_VIOLATES,
    Report,
)
from specaudit.render.printable import printable

_NOTES = 3
"""Notes of a finding that are shown unless all are asked for."""

STYLES = {
    Verdict.CONFORMS: "green",
    Verdict.VIOLATES: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
}


def render_terminal(report: Report, *, folder: str, verbose: bool = False, width: int = 80, color: bool = False) -> str:
    """Return the report as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system="standard" if color else None, force_terminal=color)
    console.print(Group(*_parts(mapped(report, _printable), printable(folder), verbose)), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(report: Report, folder: str, verbose: bool) -> Iterator[RenderableType]:
    yield _headline(report)
    if report.stopped:
        yield _unbroken(report.stopped)
    yield from (Text(_arm(arm), style="dim") for arm in report.arms)
    if _anything_asked(report) or report.stopped is None:
        yield Text()
        yield _table(report)
        for finding in report.findings:
            if lines := list(_details(finding, verbose)):
                yield Text()
                yield Text(finding.check, style="bold")
                yield Padding(Group(*map(Text, lines)), (0, 0, 0, 2), expand=False)
        yield from _next_steps(report)
    yield Text()
    yield from _provenance(report, folder)


def _headline(report: Report) -> Text:
    word, style, meaning = _overall(report)
    return Text.assemble((word, style), f"  suite {report.suite}: {meaning}.")


def _overall(report: Report) -> tuple[str, str, str]:
    """(word, style, what it means) of the exit code."""
    required = [finding for finding in report.findings if finding.required]
    undecided = _ids([finding for finding in required if finding.verdict is Verdict.INCONCLUSIVE])
    match report.exit_code:
        case code if code == EXIT_VIOLATES:
            found = _ids([finding for finding in report.findings if finding.verdict is Verdict.VIOLATES])
            return "VIOLATES", "bold red", f"{found} found a deviation"
        case code if code == EXIT_COULD_NOT_TEST and report.stopped:
            return "COULD NOT TEST", "yellow", "collecting stopped"
        case code if code == EXIT_COULD_NOT_TEST:
            missing = _ids([finding for finding in required if finding.verdict is Verdict.NOT_APPLICABLE])
            return "COULD NOT TEST", "yellow", f"{missing} could not be carried out"
        case code if code == EXIT_INTERNAL:
            return "INTERNAL ERROR", "bold red", "a check crashed; the evidence is kept"
        case code if code == EXIT_INTERRUPTED:
            return "INTERRUPTED", "yellow", "the plan was not carried out to its end"
        case code if code == EXIT_CONFORMS and not undecided:
            return "CONFORMS", "green", "every required check conforms"
        case code:
            allowed = ", which is allowed here" if code == EXIT_CONFORMS else ""
            return "INCONCLUSIVE", "yellow", f"{undecided} neither showed nor excluded a deviation{allowed}"


def _ids(findings: list[Finding]) -> str:
    return ", ".join(finding.check for finding in findings)


def _arm(arm: Arm) -> str:
    drafting = {None: "", 0: ", plain decoding"}.get(arm.draft_tokens, f", {arm.draft_tokens} drafts per step")
    engine = "embedded decoder" if arm.engine == "reference" else arm.engine
    return f"{arm.role:<9}  {arm.endpoint or engine}{drafting}"


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


def _details(finding: Finding, verbose: bool) -> Iterator[str]:
    if finding.effect is not None and (finding.effect.low is not None or verbose):
        yield _effect(finding.effect)
    if finding.statistic is not None and finding.statistic.p_value is not None:
        budget = "" if finding.alpha is None else f"; this check's share of the error budget is {finding.alpha:.2g}"
        yield f"p = {finding.statistic.p_value:.2g}{budget}"
    if finding.below_tolerance:
        yield "The deviation is real, yet bounded below the tolerance."
    if finding.witness is not None:
        yield _witness(finding.witness)
    if finding.coverage:
        yield f"Exercised at least: {', '.join(_seen(*item) for item in finding.coverage.items())}"
    shown = finding.notes if verbose else finding.notes[:_NOTES]
    yield from (f"Note: {note}." for note in shown)
    if len(shown) < len(finding.notes):
        yield f"… and {len(finding.notes) - len(shown)} more notes, which --verbose shows"
    if verbose:
        yield from _verbose(finding)


def _verbose(finding: Finding) -> Iterator[str]:
    yield from map(_view, finding.views)
    if finding.measured:
        yield f"Measured: {', '.join(f'{name} {_number(value)}' for name, value in finding.measured.items())}"
    if finding.smallest_detectable is not None:
        yield f"Smallest deviation that would have been seen: {finding.smallest_detectable:.3g}"
    yield from (f"Assumes: {assumption}." for assumption in finding.assumptions)


def _effect(effect: Effect) -> str:
    """One line: what was measured, how sure that is, and what is tolerated."""
    unit = f" {effect.unit}" if effect.unit else ""
    line = f"{effect.name[0].upper()}{effect.name[1:]}: {effect.value:.4g}{unit}"
    sure = f"({100 * effect.confidence:.6g} % sure)"
    match effect.low, effect.high:
        case None, None:
            pass
        case low, None:
            line += f", at least {low:.4g} {sure}"
        case None | 0.0, high:
            line += f", at most {high:.4g} {sure}"
        case low, high:
            line += f", from {low:.4g} to {high:.4g} (each bound {100 * effect.confidence:.6g} % sure)"
    return line if effect.tolerance is None else f"{line}; {effect.tolerance:g} is tolerated"


def _witness(witness: Witness) -> str:
    observed, expected = (
        "not known" if value is None else f"{value:.4g}" for value in (witness.observed, witness.expected)
    )
    return f"Witness: {witness.what}: {observed} instead of {expected} ({witness.unit})"


def _view(view: View) -> str:
    expected = view.expected_under_equality
    equality = "" if expected is None else f" ({expected:.4f} under equality)"
    return (
        f"{view.name[0].upper()}{view.name[1:]}, law {view.law}, n = {view.samples:,}: {view.effect.name} "
        f"{view.effect.value:.4f}{equality}{_bound(view.effect.high)}; {_statistic(view.statistic)}"
    )


def _bound(high: float | None) -> str:
    return "" if high is None else f", at most {high:.4f}"


def _statistic(statistic: Statistic) -> str:
    degrees = "" if statistic.degrees_of_freedom is None else f" on {statistic.degrees_of_freedom} degrees of freedom"
    p_value = "" if statistic.p_value is None else f", p = {statistic.p_value:.2g}"
    value = "infinite" if statistic.value is None else f"{statistic.value:.1f}"
    return f"{statistic.name} {value}{degrees}{p_value}"


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4g}"


def _seen(name: str, count: int | None) -> str:
    return f"{name} not seen" if count is None else f"{count:,} {name}"


def _next_steps(report: Report) -> Iterator[RenderableType]:
    """What to try, once for all checks that say the same."""
    steps: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.next_step:
            steps.setdefault(finding.next_step, []).append(finding.check)
    for step, checks in steps.items():
        yield Text()
        yield Text(f"Next, for {', '.join(checks)}:", style="bold")
        yield _unbroken(f"  {step}")


def _provenance(report: Report, folder: str) -> Iterator[RenderableType]:
    if _anything_asked(report):
        spent = (f"{role} {count:,} in {report.requests[role]:,} requests" for role, count in report.tokens.items())
        lost = f"; {report.lost:,} requests were never answered" if report.lost else ""
        yield Text(f"Tokens: {', '.join(spent)}{lost}.", style="dim")
    yield _unbroken(f"Evidence: {folder} ({'sealed' if report.complete else 'not sealed'})", style="dim")
    yield _unbroken(f"sha256 {report.evidence_digest}", style="dim")
    yield _unbroken(f"Judge it again: specaudit analyze {shlex.quote(folder)}", style="dim")


def _anything_asked(report: Report) -> bool:
    return any(report.requests.values())


def _unbroken(text: str, style: str = "") -> Text:
    """A line that is left to the terminal to break, so that what it holds can be pasted."""
    return Text(text, style=style, no_wrap=True, overflow="ignore")


def _printable(leaf: Any) -> Any:
    """A text of a record, safe to print; a verdict is one of ours."""
    return printable(leaf) if isinstance(leaf, str) and not isinstance(leaf, Verdict) else leaf
