"""A calibration as one HTML page that needs nothing else: the kill matrix as a heat map, methods, medians."""

from collections.abc import Iterable
from html import escape
from math import log10

from specaudit.model.calibration import Calibration, Kill
from specaudit.render.calibration import (
    Row,
    allowed,
    columns,
    conclusions,
    method_told,
    over_stein,
    rows,
    speed_told,
    without,
)
from specaudit.render.printable import printable_record

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #68707a; --line: #d5dae0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14171b; --faint: #98a1ab; --line: #333a42; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 110rem; padding: 0 1rem; }
p, ul { max-width: 60rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; border: 1px solid var(--line); text-align: left; white-space: nowrap; }
thead th { font-weight: 600; } tbody th { font-weight: 400; font-family: ui-monospace, monospace; }
td.n { text-align: right; }
td.kill { text-align: right; color: #fff; }
td.conforms { background: color-mix(in srgb, #2f9e62 22%, var(--paper)); }
td.inconclusive { background: color-mix(in srgb, #d9a514 28%, var(--paper)); }
td.not-applicable { color: var(--faint); }
td.crashed { background: repeating-linear-gradient(45deg, #555 0 4px, #777 4px 8px); color: #fff; }
.bad { color: #c0262d; font-weight: 600; } .faint { color: var(--faint); }
"""

_MARKS = {"conforms": "conforms", "inconclusive": "open", "not-applicable": "–", "crashed": "crashed"}

_QUICKEST, _SLOWEST = 2.0, 5.5
"""Decimal logarithms of the tokens to a verdict between which a kill's colour goes from dark to light."""


def render_html(found: Calibration) -> str:
    """Return the page; the same calibration gives the same bytes."""
    found = printable_record(found)
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in conclusions(found))
    word = "Calibrated" if found.passed else '<span class="bad">Not as it should be</span>'
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>specaudit {escape(found.tool)}: calibration</title><style>{_STYLE}</style></head><body>",
        f"<h1>{word}: specaudit {escape(found.tool)}{', quick' if found.quick else ''}, seed {found.seed}</h1>",
        f"<ul>{told}</ul>",
        _matrix(found),
        _methods(found),
        _speeds(found),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _matrix(found: Calibration) -> str:
    used = columns(found)
    checks = list(dict.fromkeys(check for check, _ in used))
    spans = "".join(f'<th colspan="{sum(c == check for c, _ in used)}">{escape(check)}</th>' for check in checks)
    levels = "".join(f"<th>{'' if level == 'any' else escape(level)}</th>" for _, level in used)
    body = "".join(_row(row, used) for row in rows(found))
    return (
        f"<h2>Kill matrix</h2><p>A kill shows the subject's tokens to the verdict, at an error budget of "
        f"{found.alpha:g}: the darker, the fewer. The Stein limit is the mean that no test can beat which judges each "
        f"token by the one before.</p>"
        f'<div class="scroll"><table><thead><tr><th rowspan="2">subject</th><th rowspan="2">family</th>{spans}'
        f'<th rowspan="2">Stein limit</th></tr><tr>{levels}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _row(row: Row, used: Iterable[tuple[str, str]]) -> str:
    cells = "".join(_cell(row.cells.get(column), row.stein) for column in used)
    limit = "" if row.stein is None else f"{row.stein:,.0f}"
    name, family = escape(row.subject), escape(row.family)
    return f'<tr><th>{name}</th><td class="faint">{family}</td>{cells}<td class="n">{limit}</td></tr>'


def _cell(kill: Kill | None, stein: float | None) -> str:
    if kill is None:
        return "<td></td>"
    if not kill.killed:
        return f'<td class="{kill.verdict}" title="{escape(kill.told)}">{_MARKS[kill.verdict]}</td>'
    times = over_stein(kill.tokens, stein) if kill.check.startswith("LAW") else ""
    told = f"{kill.told} {times} × Stein." if times else kill.told
    return f'<td class="kill" style="background:{_shade(kill.tokens)}" title="{escape(told)}">{kill.tokens:,}</td>'


def _shade(tokens: int) -> str:
    """Dark red for a quick kill, lighter for a slow one; white text stays readable on all of them."""
    slow = (log10(max(tokens, 1)) - _QUICKEST) / (_SLOWEST - _QUICKEST)
    return f"hsl(4 62% {24 + 24 * min(max(slow, 0.0), 1.0):.0f}%)"


def _methods(found: Calibration) -> str:
    body = "".join(
        f'<tr><th>{escape(one.name)}</th><td>{one.error}</td><td class="n">{one.level:g}</td>'
        f'<td class="n">{one.wrong} of {one.audits:,}</td><td class="n">{one.most}</td>'
        f'<td class="n">{"" if one.uniform_p is None else f"{one.uniform_p:.2g}"}</td>'
        f"<td{'' if one.kept else _BAD}>{method_told(one)}</td></tr>"
        for one in found.methods
    )
    heads = ("method", "error", "level", "wrong", "allowed", "uniform p", "")
    return _section("False alarms and false conforms", heads, body)


def _speeds(found: Calibration) -> str:
    body = "".join(
        f"<tr><th>{escape(one.subject)}</th><td>{without(one)}</td>"
        f'<td class="n">{"no verdict" if one.median is None else f"{one.median:,.0f}"}</td>'
        f'<td class="n">{one.stein:,.0f}</td><td class="n">{over_stein(one.median, one.stein)}</td>'
        f'<td class="n">{allowed(one)}</td>'
        f"<td{'' if one.kept else _BAD}>{speed_told(one)}</td></tr>"
        for one in found.speeds
    )
    heads = ("fault", "bets on it", "median tokens", "Stein limit", "× Stein", "allowed", "")
    return _section("Tokens to a verdict by betting, drafter's law known", heads, body)


_BAD = ' class="bad"'


def _section(title: str, heads: Iterable[str], body: str) -> str:
    if not body:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return (
        f'<h2>{escape(title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
