"""`specaudit claim price`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from specaudit.cli.deployment_options import COUNT, SHARE, deployment_options, speculation_of

if TYPE_CHECKING:
    from specaudit.claims.tokens import Shape


@click.command("price", short_help="step times, best draft lengths, where speculation loses")
@deployment_options
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
@click.option("--batch", "batches", metavar="N", type=COUNT, multiple=True, help="Repeatable.  [default: 1, 4, … 512]")
@click.option(
    "--context", "contexts", metavar="N", type=COUNT, multiple=True, help="Repeatable.  [default: 1024, 8192, 32768]"
)
@click.option("--spread", metavar="S", type=SHARE, help="Standard deviation of acceptance over requests: tells tails.")
@click.option("--json", is_flag=True, help="Print as JSON.")
def price_command(
    *,
    acceptance: float,
    draft_tokens: int,
    tree: str | None,
    later_child: float,
    batches: tuple[int, ...],
    contexts: tuple[int, ...],
    spread: float | None,
    json: bool,
    **options: Any,
) -> None:
    """Price speculation: the best draft length at each batch and context, where it loses, and what the cache holds.

    Efficiencies and overheads are assumptions: measure yours, and give them. Vendors' sheets often print operations
    with sparsity; the tables hold dense ones.
    """
    from specaudit.claims.price import price
    from specaudit.model.errors import UsageError

    try:
        listed = price(
            speculation_of(options, acceptance=acceptance, later_child=later_child),
            batches=sorted(batches or (1, 4, 16, 64, 128, 256, 512)),
            contexts=sorted(contexts or (1024, 8192, 32_768)),
            most=draft_tokens,
            largest=max(512, *batches) if batches else 512,
            memory_used=options["memory_used"],
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
