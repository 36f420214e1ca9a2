"""`specaudit claim price`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from specaudit.claims.architecture import Architecture
    from specaudit.claims.drafters import Drafter
    from specaudit.claims.tables import Table
    from specaudit.claims.tokens import Shape

_FILE = click.Path(path_type=Path)
_COUNT = click.IntRange(1, 1_048_576)
_SHARE = click.FloatRange(0, 1, min_open=True)
DRAFTERS = "model:NAME, share:X, eagle, eagle3, mtp, blind, lookup"


@click.command("price", short_help="step times, best draft lengths, where speculation loses")
@click.option("--model", metavar="NAME", required=True, help="The target, by its name in the model table.")
@click.option("--device", metavar="NAME", required=True, help="By its name in the hardware table.")
@click.option("--devices", metavar="N", type=_COUNT, default=1, show_default=True, help="Sharing every layer.")
@click.option("--precision", metavar="NAME", default="bf16", show_default=True, help="Of the weights.")
@click.option("--cache-precision", metavar="NAME", help="Of keys and values.  [default: fp8 if weights are, else bf16]")
@click.option("--drafter", metavar="KIND", default="eagle3", show_default=True, help=f"One of {DRAFTERS}.")
@click.option(
    "--acceptance", metavar="A", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="Of a draft."
)
@click.option("--draft-tokens", metavar="K", type=click.IntRange(1, 64), default=8, show_default=True, help="At most.")
@click.option("--tree", metavar="PARENTS", help="A tree to compare with: parents of its nodes, e.g. 0,0,1,1,2,2.")
@click.option(
    "--later-child",
    metavar="X",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="In trees: acceptance of a child whose elders were rejected, over that of a first one.",
)
@click.option("--batch", "batches", metavar="N", type=_COUNT, multiple=True, help="Repeatable.  [default: 1, 4, … 512]")
@click.option(
    "--context", "contexts", metavar="N", type=_COUNT, multiple=True, help="Repeatable.  [default: 1024, 8192, 32768]"
)
@click.option("--spread", metavar="S", type=_SHARE, help="Standard deviation of acceptance over requests: tells tails.")
@click.option("--bandwidth", metavar="X", type=_SHARE, default=0.75, show_default=True, help="Share that is reached.")
@click.option("--compute", metavar="X", type=_SHARE, default=0.5, show_default=True, help="Share that is reached.")
@click.option(
    "--overhead-ms", metavar="MS", type=click.FloatRange(0), default=2.0, show_default=True, help="Of every step."
)
@click.option(
    "--launch-ms",
    metavar="MS",
    type=click.FloatRange(0),
    default=0.4,
    show_default=True,
    help="Of every drafting pass.",
)
@click.option("--memory-used", metavar="X", type=_SHARE, default=0.9, show_default=True, help="By weights and cache.")
@click.option("--no-attention", is_flag=True, help="Do not count attention's own arithmetic.")
@click.option("--no-links", is_flag=True, help="Do not count the traffic between devices.")
@click.option("--hardware", metavar="FILE", type=_FILE, multiple=True, help="Devices of your own, TOML; repeatable.")
@click.option("--models", metavar="FILE", type=_FILE, multiple=True, help="Models of your own, TOML; repeatable.")
@click.option("--json", is_flag=True, help="Print as JSON.")
def price_command(
    *,
    model: str,
    device: str,
    devices: int,
    precision: str,
    cache_precision: str | None,
    drafter: str,
    acceptance: float,
    draft_tokens: int,
    tree: str | None,
    later_child: float,
    batches: tuple[int, ...],
    contexts: tuple[int, ...],
    spread: float | None,
    bandwidth: float,
    compute: float,
    overhead_ms: float,
    launch_ms: float,
    memory_used: float,
    no_attention: bool,
    no_links: bool,
    hardware: tuple[Path, ...],
    models: tuple[Path, ...],
    json: bool,
) -> None:
    """Price speculation: the best draft length at each batch and context, where it loses, and what the cache holds.

    Efficiencies and overheads are assumptions: measure yours, and give them. Vendors' sheets often print operations
    with sparsity; the tables hold dense ones.
    """
    from specaudit.claims import tables
    from specaudit.claims.precisions import PRECISIONS, precision_named
    from specaudit.claims.price import price
    from specaudit.claims.speed_up import Speculation
    from specaudit.claims.step_time import Deployment
    from specaudit.model.errors import UsageError

    known = tables.models(tables.read_models(models))
    target, weights = known.find(model, "--model"), precision_named(precision, "--precision")
    deployment = Deployment(
        model=target,
        device=tables.devices(tables.read_devices(hardware)).find(device, "--device"),
        devices=devices,
        precision=weights,
        cache=(
            precision_named(cache_precision, "--cache-precision")
            if cache_precision
            else PRECISIONS["fp8" if weights.bytes <= 1 else "bf16"]
        ),
        bandwidth_efficiency=bandwidth,
        compute_efficiency=compute,
        overhead=overhead_ms / 1e3,
        attention=not no_attention,
        links=not no_links,
    )
    found = Speculation(
        deployment=deployment,
        drafter=_drafter(drafter, target, known, launch_ms / 1e3),
        acceptance=acceptance,
        later_child=later_child,
    )
    try:
        listed = price(
            found,
            batches=sorted(batches or (1, 4, 16, 64, 128, 256, 512)),
            contexts=sorted(contexts or (1024, 8192, 32_768)),
            most=draft_tokens,
            largest=max(512, *batches) if batches else 512,
            memory_used=memory_used,
            tree=None if tree is None else _tree(tree),
            spread=spread,
        )
    except ValueError as error:
        raise UsageError(f"This cannot be priced: {error}.", hint="specaudit claim price --help") from error
    if json:
        from specaudit.model.record import to_json

        click.echo(to_json(listed))
        return
    from rich.console import Console

    from specaudit.render.price import render_price

    console = Console()
    color = console.color_system is not None and not console.no_color
    click.echo(render_price(listed, width=console.width, color=color), nl=False, color=color)


def _drafter(text: str, target: Architecture, known: Table[Architecture], launch: float) -> Drafter:
    """Return the drafter that is asked for.

    Raises:
        UsageError: there is no such kind; the message names the nearest.
    """
    from specaudit.claims import drafters
    from specaudit.model.errors import UsageError
    from specaudit.model.nearest import nearest

    kind, _, value = text.partition(":")
    if kind == "model" and value:
        return drafters.small_model(known.find(value, "--drafter"), launch=launch)
    if kind == "share":
        try:
            share = float(value)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UsageError(f"--drafter: {text!r} is no share between 0 and 1.", hint="--drafter share:0.02")
        return drafters.of_share(target, share, launch=launch)
    makers = {
        "eagle": drafters.eagle,
        "eagle3": drafters.eagle3,
        "mtp": drafters.mtp,
        "blind": drafters.blind_heads,
    }
    if text in makers:
        return makers[text](target, launch=launch)
    if text == "lookup":
        return drafters.prompt_lookup(launch=launch)
    raise UsageError(
        f"--drafter: there is no {text!r}.{nearest(kind, [*makers, 'lookup', 'model', 'share'])}",
        hint=f"One of {DRAFTERS}",
    )


def _tree(text: str) -> Shape:
    """Read the parents of a tree's nodes.

    Raises:
        UsageError: they are no whole numbers, or a node stands before its parent.
    """
    from specaudit.claims.tokens import tree
    from specaudit.model.errors import UsageError

    try:
        return tree([int(part) for part in text.split(",")])
    except ValueError as error:
        raise UsageError(f"--tree {text!r} is no tree: {error}.", hint="--tree 0,0,1,1,2,2") from error
