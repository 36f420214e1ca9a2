"""`specaudit report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specaudit.render.registry import FORMATS

if TYPE_CHECKING:
    from specaudit.claims.judgement import Judgement
    from specaudit.model.report import Report


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", "name", type=click.Choice(list(FORMATS)), required=True, help="What to write.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Where to write it.  [default: stdout]")
@click.option(
    "--claim", metavar="CLAIM", help="The claim that a vendor report verifies: a file, or a shipped one's name."
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 when nothing was shown either way.")
def command(*, folder: Path, name: str, out: Path | None, claim: str | None, allow_inconclusive: bool) -> int:
    """Judge the evidence in FOLDER again, as `analyze` does, and write the report in another format.

    The exit code is that of the audit, whatever the format. A FILE that cannot be written exits with 3, unless the
    audit ends with something worse.
    """
    from specaudit.audit.analyse import analyse
    from specaudit.audit.record import read_evidence
    from specaudit.cli.reports import write_reports
    from specaudit.render.registry import CLAIMED, render

    if claim is not None and name not in CLAIMED:
        raise click.UsageError(f"--claim goes with --format {' or '.join(CLAIMED)}.")
    report = analyse(read_evidence(folder), allow_inconclusive=allow_inconclusive)
    judgement = None if claim is None else _judged(claim, report)
    if out is None:
        click.echo(render(name, report, judgement=judgement), nl=False)
    else:
        write_reports(report, folder, [(name, out)], judgement=judgement)
    return report.exit_code


def _judged(name: str, report: Report) -> Judgement:
    from specaudit.claims.judge import judge
    from specaudit.claims.measured import with_evidence
    from specaudit.claims.reading import load_claim
    from specaudit.claims.tables import devices, models

    return with_evidence(judge(load_claim(name), Path(name).stem, devices(), models()), report)
