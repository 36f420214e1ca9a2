"""Reports in files, in the formats that were asked for, and what GitHub's runner is told."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specaudit.model.errors import SpecauditError
from specaudit.render.registry import FORMATS, render

if TYPE_CHECKING:
    from specaudit.claims.judgement import Judgement
    from specaudit.model.report import Report


def report_file(value: str) -> tuple[str, Path]:
    """Read `FORMAT=FILE` from the command line: a format's name and a path.

    Raises:
        click.BadParameter: it is not of that form, or there is no such format; the message names the nearest.
    """
    from specaudit.model.nearest import nearest

    name, _, file = value.partition("=")
    if not file:
        raise click.BadParameter(f"{value!r} is not FORMAT=FILE, such as junit=specaudit.xml.")
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise click.BadParameter(f"There is no format {name!r}.{nearest(name, FORMATS)} There are: {known}.")
    return name, Path(file)


class NotWritten(SpecauditError):
    """A report could not be written; the audit's own exit code stands where it is worse than could not test."""

    def __init__(self, message: str, *, hint: str, audit: int) -> None:
        from specaudit.model.report import EXIT_COULD_NOT_TEST, PRECEDENCE

        super().__init__(message, hint=hint)
        self.exit_code = min(audit, EXIT_COULD_NOT_TEST, key=PRECEDENCE.index)


def write_reports(
    report: Report, folder: Path, files: Iterable[tuple[str, Path]], *, judgement: Judgement | None = None
) -> None:
    """Write the report to files, each in its format.

    Raises:
        NotWritten: some of them could not be written; the others are.
    """
    failed: list[tuple[str, Path, OSError]] = []
    for name, file in files:
        try:
            file.write_text(render(name, report, judgement=judgement), encoding="utf-8")
        except OSError as error:
            failed.append((name, file, error))
    if failed:
        told = ", ".join(f"{file} ({error.strerror})" for _, file, error in failed)
        raise NotWritten(
            f"Not written: {told}. The evidence is kept.",
            hint=f"specaudit report {shlex.quote(str(folder))} --format {failed[0][0]} --out FILE",
            audit=report.exit_code,
        )


def write_text(file: Path, text: str) -> None:
    """Write a text to a file.

    Raises:
        SpecauditError: it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecauditError(f"{file} could not be written: {error.strerror}.", hint="Give another file") from error


def tell_github(report: Report) -> None:
    """In a job of GitHub Actions, annotate it on stderr, where stdout stays clean, and append to its summary page.

    A page that cannot be written changes no exit code: nobody asked for it by name.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        click.echo(render("github", report), nl=False, err=True)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(page).open("a", encoding="utf-8") as summary:
                summary.write(f"{render('markdown', report)}\n")
        except OSError as error:
            click.echo(f"specaudit: The summary page {page} could not be written: {error.strerror}.", err=True)
