"""A price list of speculation for a person at a terminal: a table, a heat map, and the lines to configure with."""

import io
from collections.abc import Iterator
from math import isfinite

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specaudit.claims.price import Context, Price
from specaudit.render.console import console
from specaudit.render.printable import printable_record

_SHADES = " ░▒▓█"


def render_price(price: Price, *, width: int = 80, color: bool = False) -> str:
    """Return the list as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    console(out, width, color=color).print(Group(*_parts(printable_record(price))), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(price: Price) -> Iterator[RenderableType]:
    many = f"{price.devices} × {price.device}" if price.devices > 1 else price.device
    yield Text(f"{price.model} in {price.precision} on {many}, drafts by {price.drafter}", style="bold")
    yield Text(
        f"A token uses {price.step_bytes / 1e9:,.2f} GB of weights; one sequence takes {price.steps_per_second:,.1f} "
        f"steps a second; {_ridge(price.ridge)}. Drafting reads "
        f"{price.drafter_share:.1%} of that a pass. Acceptance {price.acceptance:g}."
    )
    yield Text()
    yield _table(price)
    yield Text()
    yield Text("Best draft length and its speed-up, by context and batch:", style="bold")
    yield _map(price)
    for context in price.contexts:
        yield Text()
        yield Text(f"At {context.context:,} tokens of context:", style="bold")
        yield from (Padding(Text(line), (0, 0, 0, 2), expand=False) for line in _sentences(price, context))
        yield Text(f"  {context.vllm}", no_wrap=True, overflow="ignore")
    if price.losses:
        yield Text()
        yield Text(
            f"Requests that {price.most} drafts slow down, at {price.contexts[0].context:,} tokens of context and an "
            f"acceptance spread by {price.spread:g}:",
            style="bold",
        )
        yield _losses(price)


def _ridge(tokens: float) -> str:
    return f"from {tokens:,.0f} tokens a step on arithmetic decides" if isfinite(tokens) else "arithmetic is not known"


def _table(price: Price) -> Table:
    trees = price.cells[0].tree is not None
    names = ("batch", "best k", "speed-up", f"with k={price.most}", *(["tree"] if trees else []), "tok/s each", "all")
    table = _columns(*names)
    for cell in price.cells:
        if cell.context != price.contexts[0].context:
            continue
        tree = [] if cell.tree is None else [f"{cell.tree:.2f}"]
        aside = "" if cell.fits else "  does not fit"
        table.add_row(
            f"{cell.batch:,}",
            str(cell.best),
            f"{cell.speed_up:.2f}",
            f"{cell.longest:.2f}",
            *tree,
            f"{cell.user:,.1f}",
            f"{cell.user * cell.batch:,.0f}{aside}",
        )
    return table


def _map(price: Price) -> Table:
    """A cell for each context and batch: drafts, speed-up, and a shade that darkens with it; dots where none fit."""
    batches = sorted({cell.batch for cell in price.cells})
    table = _columns("context", *(f"{batch:,}" for batch in batches))
    best = max(cell.speed_up for cell in price.cells)
    for context in price.contexts:
        row = [cell for cell in price.cells if cell.context == context.context]
        table.add_row(f"{context.context:,}", *(_shaded(cell.best, cell.speed_up, best, cell.fits) for cell in row))
    return table


def _shaded(drafts: int, speed_up: float, best: float, fits: bool) -> str:
    level = 0 if best <= 1 else round((speed_up - 1) / (best - 1) * (len(_SHADES) - 1))
    shade = _SHADES[level] if fits else "·"
    return f"{shade}{drafts} {speed_up:.2f}"


def _sentences(price: Price, context: Context) -> Iterator[str]:
    if context.fixed_loses_from is not None:
        yield f"{price.most} drafts a step lose from a batch of {context.fixed_loses_from:,} on."
    if context.loses_from is not None:
        yield f"No draft pays from a batch of {context.loses_from:,} on."
    if not context.holds:
        yield "The weights leave no room for a single sequence."
        return
    yield f"The cache holds {context.holds:,} sequences; each user then gets {context.full_user:,.1f} tokens/s."
    yield (
        f"Reading one again after a preemption takes {context.preemption_seconds * 1e3:,.0f} ms, in which the others "
        f"would emit {context.preemption_tokens:,.0f} tokens."
    )


def _losses(price: Price) -> Table:
    table = _columns("batch", "tokens needed", "acceptance needed", "slowed down", "the slowest 1 %")
    for one in price.losses:
        needed = "none suffices" if one.acceptance_needed is None else f"{one.acceptance_needed:.3f}"
        table.add_row(f"{one.batch:,}", f"{one.tokens_needed:.2f}", needed, f"{one.slowed:.1%}", f"{one.slowest:.2f}")
    return table


def _columns(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table
