"""`specaudit doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specaudit.audit.keys import keys_from_environment
from specaudit.cli.server_options import ca_file_option, header_option, model_option, timeout_option, tokenizer_option

if TYPE_CHECKING:
    from specaudit.doctor.examine import Asked


@click.command("doctor")
@click.option(
    "--endpoint",
    "--base-url",
    metavar="URL",
    envvar=["SPECAUDIT_DOCTOR_ENDPOINT", "OPENAI_BASE_URL"],
    required=True,
    help="The server to examine, …/v1.",
)
@click.option("--metrics", metavar="URL", help="Its metrics page.")
@click.option("--engine", metavar="NAME", default="auto", help="Which engine it is.  [default: found out]")
@model_option
@click.option(
    "--api",
    type=click.Choice(["completions", "chat"]),
    default="completions",
    show_default=True,
    help="Interface of the server.",
)
@click.option("--stream", is_flag=True, help="Ask for streams.")
@tokenizer_option
@header_option
@ca_file_option
@timeout_option
@click.option("--json", is_flag=True, help="Print as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Every request and its answer.")
def command(
    *,
    endpoint: str,
    metrics: str | None,
    headers: tuple[tuple[str, str], ...],
    ca_file: Path | None,
    timeout: float,
    json: bool,
    verbose: bool,
    **how: Any,
) -> None:
    """Say what an endpoint reveals, which checks it therefore supports, and what to switch on for more.

    Found by behaviour, with fewer than 200 short requests: which parameters are honoured, refused or ignored in
    silence, whether speculation is really on, whether logprobs are right beside it, what the counters are worth. Keys
    are taken from the environment as by `specaudit run`.
    """
    import asyncio

    from rich.console import Console
    from stamina.instrumentation import set_on_retry_hooks

    from specaudit.doctor.examine import examine
    from specaudit.model.record import to_json
    from specaudit.render.checkup import render_checkup

    set_on_retry_hooks([])
    found = asyncio.run(examine(_asked(endpoint, metrics, dict(headers), ca_file, timeout, **how)))
    if json:
        click.echo(to_json(found))
        return
    console = Console()
    color = console.color_system is not None and not console.no_color
    click.echo(render_checkup(found, width=console.width, color=color, verbose=verbose), nl=False, color=color)


def _asked(
    endpoint: str, metrics: str | None, headers: dict[str, str], ca_file: Path | None, timeout: float, **how: Any
) -> Asked:
    """What is examined; key and headers go to the metrics page where it is of the same origin."""
    from specaudit.doctor.examine import Asked
    from specaudit.engines.addresses import same_origin
    from specaudit.engines.interface import Access

    key = keys_from_environment()["api_key"]
    access = Access(api_key=key, headers=headers, ca_file=ca_file, timeout=timeout)
    shared = metrics is not None and same_origin(metrics, endpoint)
    elsewhere = Access(ca_file=ca_file, timeout=timeout)
    return Asked(
        endpoint=endpoint, metrics=metrics, access=access, metrics_access=access if shared else elsewhere, **how
    )
