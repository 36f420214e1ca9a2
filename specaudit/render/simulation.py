"""Policies of draft lengths under load, for a person at a terminal."""

import io
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specaudit.claims.simulation.compare import Comparison, OfLoad
from specaudit.render.console import console
from specaudit.render.printable import printable_record


def render_simulation(compared: Comparison, *, width: int = 80) -> str:
    """Return the comparison as text of `width` columns, without any escape sequence."""
    out = io.StringIO()
    console(out, width).print(Group(*_parts(printable_record(compared))), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(compared: Comparison) -> Iterator[RenderableType]:
    for number, load in enumerate(compared.loads):
        if number:
            yield Text()
        yield Text(f"{load.load}:")
        yield _policies(load)
        yield Text()
        yield _kinds(load)
    yield Text()
    yield Text(
        "Times are from arrival to the last token, per token. Faster and slowed down: each request beside itself under "
        f"plain decoding. Tail: whose the slowest {compared.tail:.0%} of the requests are."
    )


def _policies(load: OfLoad) -> Table:
    table = _columns("policy", "tok/s", "batch", "accepted", "median ms", "p99 ms", "faster", "slowed", "gave way")
    for one in load.policies:
        table.add_row(
            one.policy,
            f"{one.crowded if load.closed else one.throughput:,.0f}",
            f"{one.batch:.1f}",
            "" if one.acceptance is None else f"{one.acceptance:.2f}",
            f"{one.median * 1e3:.2f}",
            f"{one.p99 * 1e3:.2f}",
            f"{one.speed_up:.2f}",
            f"{one.slowed:.0%}",
            f"{one.preemptions}",
        )
    return table


def _kinds(load: OfLoad) -> Table:
    names = [kind.kind for kind in load.policies[0].kinds]
    table = _columns("policy", *(f"{name}: faster / slowed / tail" for name in names))
    for one in load.policies[1:]:
        cells = (f"{kind.speed_up:.2f} / {kind.slowed:.0%} / {kind.tail:.0%}" for kind in one.kinds)
        table.add_row(one.policy, *cells)
    return table


def _columns(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(names):
        table.add_column(name, justify="right" if number else "left")
    return table
