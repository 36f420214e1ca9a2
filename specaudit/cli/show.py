"""Showing and keeping a report."""

from pathlib import Path

import click

from specaudit.model.errors import SpecauditError
from specaudit.model.report import Report


def show(report: Report, folder: Path, *, json: bool, verbose: bool) -> None:
    """Print the report on stdout."""
    if json:
        from specaudit.render.json import render_json

        click.echo(render_json(report), nl=False)
        return
    from rich.console import Console

    from specaudit.render.terminal import render_terminal

    console = Console()  # knows NO_COLOR, FORCE_COLOR, COLUMNS, and terminals that are none
    color = console.color_system is not None and not console.no_color
    text = render_terminal(report, folder=str(folder), verbose=verbose, width=console.width, color=color)
    click.echo(text, nl=False, color=color)


def save(report: Report, folder: Path) -> None:
    """Keep the report beside its evidence.

    Raises:
        SpecauditError: the disk does not take it.
    """
    from specaudit.render.json import render_json

    path, text = folder / "report.json", render_json(report)
    try:
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return  # judged again; the folder may be read-only by now
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecauditError(
            f"{path} could not be written ({error.strerror}); the evidence is kept.",
            hint=f"specaudit analyze {folder} --json",
        ) from error
