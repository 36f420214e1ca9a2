"""`specaudit compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from specaudit.model.comparison import Comparison
    from specaudit.model.report import Report

FORMATS = ("terminal", "html", "markdown", "json")


@click.command("compare")
@click.argument("first", metavar="FIRST", type=click.Path(path_type=Path))
@click.argument("second", metavar="SECOND", type=click.Path(path_type=Path))
@click.option(
    "--format", "name", type=click.Choice(FORMATS), default="terminal", show_default=True, help="What to write."
)
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Where to write it.  [default: stdout]")
@click.option("--json", is_flag=True, help="The same as --format json.")
def command(*, first: Path, second: Path, name: str, out: Path | None, json: bool) -> int:
    """Hold the audit SECOND beside FIRST: folders of evidence, judged again, or report.json files.

    Exit codes: 0 nothing became worse; 1 a check violates that did not; 3 no check is in both; 4 a required check no
    longer conforms.
    """
    from specaudit.audit.compare import compare
    from specaudit.cli.reports import write_text

    found = compare(_report(first), _report(second), (str(first), str(second)))
    text = _rendered(found, "json" if json else name, to_file=out is not None)
    if out is None:
        click.echo(text, nl=False, color=True)
    else:
        write_text(out, text)
    return found.exit_code


def _report(path: Path) -> Report:
    from specaudit.audit.analyse import analyse
    from specaudit.audit.record import read_evidence
    from specaudit.model.errors import UsageError
    from specaudit.model.report import parse_report

    if path.is_dir() or not path.exists():
        return analyse(read_evidence(path))
    try:
        return parse_report(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="specaudit compare --help") from error


def _rendered(found: Comparison, name: str, *, to_file: bool) -> str:
    from specaudit.render import comparison

    match name:
        case "html":
            return comparison.render_comparison_html(found)
        case "markdown":
            return comparison.render_comparison_markdown(found)
        case "json":
            from specaudit.render.json import render_json

            return render_json(found)
    from rich.console import Console

    console = Console()
    color = console.color_system is not None and not console.no_color and not to_file
    return comparison.render_comparison_terminal(found, width=console.width, color=color)
