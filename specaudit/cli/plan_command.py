"""`specaudit plan`."""

from pathlib import Path
from typing import Any

import click

from specaudit.cli.audits import new_audit
from specaudit.cli.estimate import show_estimate
from specaudit.cli.run_command import command as run

_HOW = ("timeout", "out", "reports", "resume", "dry_run", "json", "allow_inconclusive", "quiet")
"""Options of `run` that say nothing of what is asked; some of them this command has in its own words."""


@click.command(
    "plan",
    params=[option for option in run.params if option.name not in (*_HOW, "headers", "ca_file", "verbose")],
)
@click.option(
    "--assume",
    type=click.Choice(["exact", "scored", "sampled"]),
    help="How well the target's law is known.  [default: exact in process, else scored]",
)
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help="Generated tokens a second, all requests together.  [default: 1,000, in process 10,000]",
)
@click.option("--json", is_flag=True, help="Print the estimate as JSON.")
@click.pass_context
def command(context: click.Context, /, *, assume: Any, speed: float | None, json: bool, **options: Any) -> None:
    """Say what an audit will ask, what it costs and takes, and the smallest deviation that it sees. Sends nothing.

    What is asked is as in `specaudit run`. Servers are not asked what they reveal: it is assumed, and said.
    """
    show_estimate(new_audit(context, options, out=Path()), json=json, level=assume, speed=speed)
