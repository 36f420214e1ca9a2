"""A calibration for a person at a terminal: conclusions, then who killed what, methods, medians."""

import io
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specaudit.model.calibration import Calibration, Kill
from specaudit.render.calibration import Row, allowed, conclusions, method_told, over_stein, rows, speed_told, without
from specaudit.render.console import console
from specaudit.render.printable import printable_record


def render_calibration(found: Calibration, *, width: int = 80, color: bool = False) -> str:
    """Return the calibration as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    console(out, width, color=color).print(Group(*_parts(printable_record(found))), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(found: Calibration) -> Iterator[RenderableType]:
    word, style = ("CALIBRATED", "green") if found.passed else ("NOT AS IT SHOULD BE", "bold red")
    yield Text.assemble((word, style), f"  specaudit {found.tool}, seed {found.seed}{', quick' if found.quick else ''}")
    yield from map(Text, conclusions(found))
    yield Text()
    yield _matrix(found)
    if found.methods:
        yield Text()
        yield _methods(found)
    if found.speeds:
        yield Text()
        yield _speeds(found)


def _matrix(found: Calibration) -> Table:
    table = _table("subject", "killed by", "tokens", "× Stein")
    for row in rows(found):
        first = row.kills[0] if row.kills else None
        tokens = f"{first.tokens:,}" if first else ""
        table.add_row(row.subject, _killers(row), tokens, over_stein(_law_tokens(row), row.stein))
    return table


def _killers(row: Row) -> Text:
    if any(cell.verdict == "crashed" for cell in row.cells.values()):
        return Text("crashed", style="bold red")
    levels: dict[str, list[Kill]] = {}
    for kill in row.kills:
        levels.setdefault(kill.check, []).append(kill)
    return Text(", ".join(levels)) if levels else Text("nothing", style="dim")


def _law_tokens(row: Row) -> int | None:
    """Tokens of the quickest kill by the law of tokens, which is what the Stein limit limits."""
    return next((kill.tokens for kill in row.kills if kill.check.startswith("LAW")), None)


def _methods(found: Calibration) -> Table:
    table = _table("method", "level", "wrong", "allowed", "uniform p", "")
    for one in found.methods:
        uniform = "" if one.uniform_p is None else f"{one.uniform_p:.2g}"
        wrong = f"{one.wrong} of {one.audits:,}"
        table.add_row(f"{one.name} ({one.error})", f"{one.level:g}", wrong, str(one.most), uniform, method_told(one))
    return table


def _speeds(found: Calibration) -> Table:
    table = _table("fault", "bets", "median", "× Stein", "allowed", "")
    for one in found.speeds:
        middle = "no verdict" if one.median is None else f"{one.median:,.0f}"
        told = (over_stein(one.median, one.stein), allowed(one), speed_told(one))
        table.add_row(one.subject, without(one), middle, *told)
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    return table


_NUMBERS = ("level", "tokens", "× Stein", "wrong", "allowed", "uniform p", "median")
