"""`specaudit report`."""

from pathlib import Path

import click

from specaudit.render.registry import FORMATS


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", "name", type=click.Choice(list(FORMATS)), required=True, help="What to write.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Where to write it.  [default: stdout]")
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 when nothing was shown either way.")
def command(*, folder: Path, name: str, out: Path | None, allow_inconclusive: bool) -> int:
    """Judge the evidence in FOLDER again, as `analyze` does, and write the report in another format.

    The exit code is that of the audit, whatever the format. A FILE that cannot be written exits with 3, unless the
    audit ends with something worse.
    """
    from specaudit.audit.analyse import analyse
    from specaudit.audit.record import read_evidence
    from specaudit.cli.reports import write_reports
    from specaudit.render.registry import render

    report = analyse(read_evidence(folder), allow_inconclusive=allow_inconclusive)
    if out is None:
        click.echo(render(name, report), nl=False)
    else:
        write_reports(report, folder, [(name, out)])
    return report.exit_code
