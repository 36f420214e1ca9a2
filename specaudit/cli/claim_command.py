"""`specaudit claim`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specaudit.cli.claim_price import price_command
from specaudit.cli.claim_simulate import simulate_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specaudit.claims.judgement import Judgement
    from specaudit.model.report import Report

FORMATS = ("markdown", "json")


@click.group("claim")
def command() -> None:
    """Hold a vendor's claim against memory, arithmetic and evidence; price speculation."""


def _report_file(context: click.Context, option: click.Parameter, values: Iterable[str]) -> list[tuple[str, Path]]:
    """Read `FORMAT=FILE`."""
    found = []
    for value in values:
        name, _, file = value.partition("=")
        if name not in FORMATS or not file:
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE; FORMAT is {' or '.join(FORMATS)}.")
        found.append((name, Path(file)))
    return found


_FILE = click.Path(path_type=Path)
TABLES = (
    click.option(
        "--hardware", metavar="FILE", type=_FILE, multiple=True, help="Devices of your own, TOML; repeatable."
    ),
    click.option("--models", metavar="FILE", type=_FILE, multiple=True, help="Models of your own, TOML; repeatable."),
)
"""The options that every command of the group has."""


@command.command("check", short_help="judge claim files")
@click.argument("files", metavar="CLAIM…", nargs=-1, required=True)
@click.option("--evidence", metavar="DIR", type=_FILE, help="An audit of what the claim is about.")
@TABLES[0]
@TABLES[1]
@click.option(
    "--report",
    "reports",
    metavar="FORMAT=FILE",
    multiple=True,
    callback=_report_file,
    help="Write markdown or json to a file; repeatable.",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 where nothing was shown either way.")
@click.option("--json", is_flag=True, help="Print as JSON.")
def check(
    *,
    files: tuple[str, ...],
    evidence: Path | None,
    hardware: tuple[Path, ...],
    models: tuple[Path, ...],
    reports: list[tuple[str, Path]],
    allow_inconclusive: bool,
    json: bool,
) -> int:
    """Judge claims: files of TOML, or shipped ones by name (specaudit list claims).

    One division comes first; then what would have to be true of everything that the claim does not state.

    Exit codes: 0 plausible or measured true; 1 impossible or measured false; 2 a claim that is incomplete or
    contradicts itself; 3 not measurable from outside; 4 possible only if something unstated is better than usual.
    """
    from specaudit.claims.judge import judge
    from specaudit.claims.measured import with_evidence
    from specaudit.claims.reading import load_claim
    from specaudit.claims.tables import devices, read_devices, read_models
    from specaudit.claims.tables import models as model_table

    tables = devices(read_devices(hardware)), model_table(read_models(models))
    judgements = [judge(load_claim(name), Path(name).stem, *tables) for name in files]
    if evidence is not None:
        report = _judged(evidence)
        judgements = [with_evidence(judgement, report) for judgement in judgements]
    for name, file in reports:
        _write(name, file, judgements)
    if json:
        from specaudit.model.record import to_json

        click.echo(to_json(judgements))
    else:
        _show(judgements)
    return _exit_code(judgements, allow_inconclusive=allow_inconclusive)


def _judged(folder: Path) -> Report:
    from specaudit.audit.analyse import analyse
    from specaudit.audit.record import read_evidence

    return analyse(read_evidence(folder))


def _show(judgements: list[Judgement]) -> None:
    from rich.console import Console

    from specaudit.render.claims import render_claims

    console = Console()
    color = console.color_system is not None and not console.no_color
    click.echo(render_claims(judgements, width=console.width, color=color), nl=False, color=color)


def _write(name: str, file: Path, judgements: list[Judgement]) -> None:
    from specaudit.model.errors import CouldNotTest
    from specaudit.model.record import to_json
    from specaudit.render.claims_markdown import render_claims_markdown

    text = render_claims_markdown(judgements) if name == "markdown" else to_json(judgements).decode() + "\n"
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CouldNotTest(f"{file} could not be written: {error.strerror}.", hint="Give another file") from error


def _exit_code(judgements: list[Judgement], *, allow_inconclusive: bool) -> int:
    from specaudit.claims.judgement import Ruling
    from specaudit.model import report

    codes = {
        Ruling.IMPOSSIBLE: report.EXIT_VIOLATES,
        Ruling.MEASURED_FALSE: report.EXIT_VIOLATES,
        Ruling.NOT_MEASURABLE: report.EXIT_COULD_NOT_TEST,
        Ruling.CONDITIONAL: report.EXIT_CONFORMS if allow_inconclusive else report.EXIT_INCONCLUSIVE,
        Ruling.PLAUSIBLE: report.EXIT_CONFORMS,
        Ruling.MEASURED_TRUE: report.EXIT_CONFORMS,
    }
    met = {codes[judgement.ruling] for judgement in judgements}
    return next(code for code in report.PRECEDENCE if code in met)


command.add_command(price_command)
command.add_command(simulate_command)
