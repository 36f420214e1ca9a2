"""What an endpoint reveals, for a person at a terminal: a checklist, parameters, checks, and what would allow more."""

import io
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specaudit.model.checkup import Checkup, State, Support
from specaudit.render.console import console
from specaudit.render.printable import printable_record

_MARKS: dict[State, tuple[str, str]] = {
    "yes": ("yes", "green"),
    "partly": ("partly", "yellow"),
    "no": ("no", "red"),
    "unknown": ("?", "dim"),
}


def render_checkup(found: Checkup, *, width: int = 80, color: bool = False, verbose: bool = False) -> str:
    """Return a checkup as text of `width` columns; verbose adds every request and its answer."""
    out = io.StringIO()
    console(out, width, color=color).print(Group(*_parts(printable_record(found), verbose=verbose)), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(found: Checkup, *, verbose: bool) -> Iterator[RenderableType]:
    yield Text(f"endpoint  {found.endpoint}")
    if found.metrics is not None:
        yield Text(f"metrics   {found.metrics}")
    yield Text()
    yield _checklist(found)
    yield Text()
    yield _parameters(found)
    yield Text()
    yield _checks(found)
    if found.advice:
        yield Text()
        yield _advice(found)
    if found.switches:
        yield Text()
        yield _switches(found)
    yield Text()
    yield Text(f"{found.spent.requests} requests, {found.spent.generated_tokens:,} generated tokens.")
    if verbose:
        yield Text()
        yield from map(Text, found.exchanges)


def _checklist(found: Checkup) -> Table:
    table = _table("", "it reveals", "")
    for item in found.items:
        word, style = _MARKS[item.state]
        table.add_row(Text(word, style=style), item.question, item.answer)
    return table


def _parameters(found: Checkup) -> Table:
    table = _table("parameter", "is", "as was seen")
    styles = {"honoured": "green", "refused": "yellow", "ignored": "bold red"}
    for one in found.parameters:
        table.add_row(one.name, Text(one.treatment, style=styles.get(one.treatment, "dim")), one.seen)
    return table


def _checks(found: Checkup) -> Table:
    table = _table("check", "can be carried out", "")
    for one in found.checks:
        table.add_row(one.check, *_supported(one))
    return table


def _supported(one: Support) -> tuple[Text, str]:
    if one.alone:
        return Text("yes", style="green"), one.title
    if one.referenced:
        return Text("with --reference", style="yellow"), one.title
    return Text("no", style="red"), one.missing


def _advice(found: Checkup) -> Table:
    table = _table("to switch on", "gives")
    for one in found.advice:
        table.add_row(one.flag, one.gives)
    return table


def _switches(found: Checkup) -> Table:
    table = _table("switched off in silence", "by")
    for one in found.switches:
        table.add_row(one.switches_off, one.by)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
