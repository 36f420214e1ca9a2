"""`specaudit merge`."""

from pathlib import Path

import click


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, metavar="DIR…", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder for the merged evidence."
)
@click.option("--json", is_flag=True, help="Print as JSON.")
def command(*, folders: tuple[Path, ...], out: Path, json: bool) -> None:
    """Join what the shards of one plan have collected (`specaudit run --shard i/N`) into one audit.

    Parts that hold the same request, or are of another plan or another engine, are refused. Exit code 0 says that the
    parts were joined; `specaudit analyze` judges them, and `specaudit run --resume` goes on where something is left.
    """
    import shlex

    from specaudit.audit.merge import merge

    evidence = merge(folders, out)
    asked = sum(
        bool(evidence.attempts_at(name, slot)) for name, stage in evidence.stages.items() for slot in range(stage.size)
    )
    planned = sum(stage.size for stage in evidence.stages.values())
    if json:
        import msgspec

        told = {
            "out": str(out),
            "asked": asked,
            "planned": planned,
            "complete": evidence.sealed,
            "sha256": evidence.digest,
        }
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return
    click.echo(f"{len(folders)} parts are merged in {out}: {asked:,} of the {planned:,} requests planned so far.")
    if evidence.sealed:
        click.echo(f"Nothing is left to ask. Judge it: specaudit analyze {shlex.quote(str(out))}")
        return
    click.echo(f"The plan goes on. Ask what is left: specaudit run --resume {shlex.quote(str(out))}")
    click.echo("To go on in parts, give every machine a copy and its --shard.")
