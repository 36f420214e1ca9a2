"""`specaudit analyze`."""

from pathlib import Path

import click


@click.command("analyze")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", is_flag=True, help="Print the report as JSON.")
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 when nothing was shown either way.")
@click.option("-v", "--verbose", is_flag=True, help="All figures and assumptions.")
def command(*, folder: Path, json: bool, allow_inconclusive: bool, verbose: bool) -> int:
    """Judge the evidence in FOLDER again, offline: the same evidence gives the same findings, byte for byte.

    Evidence that was interrupted or cut off exits with 130 whatever it shows.
    """
    from specaudit.audit.analyse import analyse
    from specaudit.audit.record import read_evidence
    from specaudit.cli.show import show

    report = analyse(read_evidence(folder), allow_inconclusive=allow_inconclusive)
    show(report, folder, json=json, verbose=verbose)
    return report.exit_code
