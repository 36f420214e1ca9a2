"""An estimate for a person at a terminal: what will be asked, what it costs, what it will see, and what is assumed."""

import io
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specaudit.model.estimate import CheckEstimate, Deviation, Estimate
from specaudit.model.limits import NOTHING, Spending
from specaudit.render.console import console
from specaudit.render.printable import printable_record
from specaudit.render.sentences import arm


def render_estimate(estimate: Estimate, *, width: int = 80) -> str:
    """Return an estimate as text of `width` columns, without any escape sequence."""
    out = io.StringIO()
    console(out, width).print(Group(*_parts(printable_record(estimate))), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(estimate: Estimate) -> Iterator[RenderableType]:
    total = estimate.total
    yield Text(f"PLAN  suite {estimate.suite}: {total.requests:,} requests, {total.tokens:,} tokens. Nothing was sent.")
    yield from (Text(arm(one)) for one in estimate.arms)
    yield Text()
    yield _table(estimate)
    yield Text()
    if estimate.cost is not None:
        prices = f"{estimate.limits.price_in or 0:g} in and {estimate.limits.price_out or 0:g} out"
        yield Text(f"Cost: {estimate.cost:.4g} at {prices} for a million tokens.")
    yield Text(f"Time: {_duration(estimate.seconds)}.")
    if estimate.exceeds:
        yield Text(f"{estimate.exceeds} will end this audit before it is done.")
    if not estimate.assumptions:
        return
    yield Text()
    yield Text("Assumed:")
    assumed = Table.grid(padding=(0, 1, 0, 0))
    for assumption in estimate.assumptions:
        assumed.add_row("-", Text(assumption))
    yield assumed


def _table(estimate: Estimate) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("check", no_wrap=True)
    for name in ("requests", "prompt tokens", "generated"):
        table.add_column(name, justify="right")
    table.add_column("sees a deviation from", overflow="fold")
    if estimate.probing != NOTHING:
        table.add_row("(probing)", *_amounts(estimate.probing), "")
    for check in estimate.checks:
        shared = check.spending == NOTHING and check.smallest_detectable is not None
        amounts = ("shared", "", "") if shared else _amounts(check.spending)
        table.add_row(_name(check), *amounts, _seen(check.smallest_detectable))
    table.add_row("total", *_amounts(estimate.total), "")
    return table


def _name(check: CheckEstimate) -> str:
    return check.check if check.required else f"{check.check} (optional)"


def _amounts(spending: Spending) -> tuple[str, str, str]:
    return f"{spending.requests:,}", f"{spending.prompt_tokens:,}", f"{spending.generated_tokens:,}"


def _seen(deviation: Deviation | None) -> str:
    return "" if deviation is None else f"{deviation.value:.3g} {deviation.unit or deviation.name}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest if not hours else 0, "s"))
    return "about " + (" ".join(f"{count} {unit}" for count, unit in parts if count) or "1 s")
