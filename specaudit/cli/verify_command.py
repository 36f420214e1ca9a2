"""`specaudit verify`."""

from pathlib import Path

import click


@click.command("verify")
@click.argument("folder", type=click.Path(path_type=Path))
def command(*, folder: Path) -> int:
    """Check that the evidence in FOLDER is as it was collected: the chain of hashes, plans, pages and the seal.

    The root hash that is printed covers every line; who has it from another source knows that nothing was changed.
    Evidence that ends without a seal or a reason exits with 130: it was cut off, or lines were taken from its end.
    """
    from specaudit.audit.record import read_evidence
    from specaudit.model.report import EXIT_CONFORMS, EXIT_INTERRUPTED

    evidence = read_evidence(folder)
    if evidence.sealed:
        code, state = EXIT_CONFORMS, "sealed"
    elif evidence.stop is not None:
        code, state = EXIT_CONFORMS, "stopped, which its last record says"
    else:
        code, state = EXIT_INTERRUPTED, "but cut off: it ends without a seal"
    click.echo(f"{len(evidence.entries):,} records, unbroken, {state}.")
    click.echo(f"sha256 {evidence.digest}")
    return code
