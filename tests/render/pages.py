"""Pages to be looked at, by name: real audits, hand-made ones with every chart, hostile and very large ones."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from specaudit.audit.analyse import analyse
from specaudit.audit.compare import compare
from specaudit.audit.record import read_evidence
from specaudit.claims.judge import judge
from specaudit.claims.judgement import Judgement
from specaudit.claims.measured import with_evidence
from specaudit.claims.reading import load_claim
from specaudit.claims.tables import devices, models
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Betting, Finding, Verdict
from specaudit.model.report import Report
from specaudit.render.comparison import render_comparison_html
from specaudit.render.registry import render
from tests.render.reports import CONFORMING, HOSTILE, NOBODY, OPTIONAL, VIOLATING, hostile, report, undecided

V1 = Path(__file__).parents[1] / "model" / "forms" / "v1"

MARKUP = (
    "<script>window.hacked = 1</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>"
    "\"'><a href=javascript:window.hacked=1>x</a> {{ 7 * 7 }} {% raw %} </style></title></textarea> &lt; מודל "
)


@cache
def recorded() -> Report:
    """A real audit, from evidence that is kept with the tests."""
    return analyse(read_evidence(V1))


def exhibits() -> tuple[Exhibit, ...]:
    """An exhibit of every form."""
    steps = tuple(float(i) for i in range(1, 25))
    return (
        Exhibit(
            title="Words from depth 2",
            form="cells",
            columns=(
                Column(name="cell", values=tuple(f"{i // 4} {i % 4} 1" for i in range(20))),
                Column(name="observed", values=tuple(400.0 + (i * 37) % 90 for i in range(20)), unit="draws"),
                Column(name="expected", values=tuple(440.0 - (i * 5) % 60 for i in range(20)), unit="draws"),
                Column(
                    name="residual",
                    values=tuple(((i * 37) % 90 + (i * 5) % 60 - 40) / 20 for i in range(20)),
                    unit="standard deviations",
                ),
            ),
        ),
        Exhibit(
            title="Acceptance over time",
            form="windows",
            columns=(
                Column(name="window", values=steps),
                Column(
                    name="verifier length",
                    values=tuple(None if i in (5, 6) else 2.1 + (i * 7 % 5) / 20 for i in range(24)),
                    unit="tokens per step",
                ),
                Column(
                    name="status",
                    values=tuple("void" if i in (5, 6) else "unverified" if i == 9 else "valid" for i in range(24)),
                ),
                Column(name="reason", values=tuple("a counter fell" if i in (5, 6) else "" for i in range(24))),
            ),
            note="Void and unverified windows enter no figure.",
        ),
        Exhibit(
            title="Acceptance by position in the draft",
            form="bars",
            columns=(
                Column(name="position", values=("1", "2", "3")),
                Column(name="observed", values=(0.71, 0.48, 0.3), unit="share of steps"),
                Column(name="low", values=(0.69, 0.45, 0.27)),
                Column(name="high", values=(0.73, 0.51, 0.33)),
                Column(name="claimed", values=(0.8, 0.65, 0.5), unit="share of steps"),
            ),
        ),
        Exhibit(
            title="First divergences",
            form="points",
            columns=(
                Column(name="position", values=tuple(float(3 + i * 5 % 29) for i in range(14)), unit="tokens"),
                Column(name="gap", values=tuple(None if i == 4 else (i * i % 11) / 3 for i in range(14)), unit="nats"),
                Column(name="emitted in place of", values=tuple(f"{i} for {i + 1}" for i in range(14))),
            ),
            rules={"hard gap": 2.0},
        ),
        Exhibit(
            title="Latency",
            form="steps",
            columns=(
                Column(name="arm", values=("plain",) * 20 + ("speculating",) * 20),
                Column(
                    name="latency",
                    values=tuple(1.6 + (i * 7 % 20) / 25 for i in range(20))
                    + tuple(0.7 + (i * 11 % 20) / 40 for i in range(20)),
                    unit="seconds",
                ),
            ),
        ),
        Exhibit(
            title="Paired ratios, plain over speculating",
            form="intervals",
            columns=(
                Column(name="block", values=tuple(f"block {i}" for i in range(1, 7))),
                Column(name="ratio", values=(1.9, 2.0, 2.1, 1.8, 2.2, 2.0), unit="times as fast"),
                Column(name="low", values=(1.7, 1.8, None, 1.6, 2.0, 1.8)),
                Column(name="high", values=(2.1, 2.2, 2.3, 2.0, None, 2.2)),
            ),
            rules={"claimed": 3.0},
            marked="below",
        ),
        Exhibit(
            title="Total variation by temperature and top-p",
            form="grid",
            columns=(
                Column(name="temperature", values=tuple(str(t) for t in (0.5, 0.7, 1.0) for _ in range(4))),
                Column(name="top-p", values=("0.8", "0.9", "0.95", "1.0") * 3),
                Column(name="upper bound", values=tuple(None if i == 7 else 0.01 * (i % 6) for i in range(12))),
            ),
            rules={"tolerance": 0.04},
        ),
    )


def every_chart() -> Report:
    """A report in which every chart is drawn."""
    path = tuple((40 * i, None if i > 55 else 0.12 * i - 0.4 * (i % 5)) for i in range(60))
    betting = Betting(
        log_e=None, p_value=1e-5, tokens=2400, rejected_after=2240, leader="resid-from-target", threshold=9.2, path=path
    )
    shown = msgspec.structs.replace(
        VIOLATING,
        betting=betting,
        exhibits=exhibits(),
        views=VIOLATING.views * 3,
        next_step=f"{VIOLATING.next_step} -v",
    )
    return report(1, CONFORMING, shown, OPTIONAL, undecided("LAW3"), lost=3, scope=recorded().scope)


def large(count: int) -> Report:
    """An audit with so many findings."""
    kinds = (CONFORMING, VIOLATING, OPTIONAL, undecided())
    findings = tuple(msgspec.structs.replace(kinds[i % 4], check=f"{kinds[i % 4].check}.{i}") for i in range(count))
    return report(1, *findings)


def unusual() -> Report:
    """Every text is hostile, exhibits included."""
    text = MARKUP + HOSTILE
    column = Column(name=text, values=(text, text), unit=text)
    figures = Column(name=text, values=(1.0, 2.0), unit=text)
    forms = ("bars", "cells", "grid", "intervals", "path", "points", "steps", "windows")
    shown = tuple(
        Exhibit(
            title=text,
            form=form,
            columns=(figures, figures)
            if form in ("path", "points", "windows")
            else (column, figures, figures, figures),
            rules={text: 1.0},
            note=text,
        )
        for form in forms
    )
    (finding,) = hostile(text).findings
    return msgspec.structs.replace(hostile(text), findings=(msgspec.structs.replace(finding, exhibits=shown),))


def judged() -> Judgement:
    """A shipped claim, judged beside a report in which every chart is drawn."""
    claim = judge(load_claim("host-table"), "host-table", devices(), models())
    return with_evidence(claim, every_chart())


EMPTY: tuple[Finding, ...] = (
    Finding(check="LAW1", verdict=Verdict.NOT_APPLICABLE, required=True, summary="There is no plain engine."),
)

PAGES: dict[str, Callable[[], str]] = {
    "recorded": lambda: render("html", recorded()),
    "charts": lambda: render("html", every_chart()),
    "hostile": lambda: render("html", unusual()),
    "megabyte": lambda: render("html", hostile("x" * 1_000_000)),
    "vendor": lambda: render("vendor-html", every_chart(), judgement=judged()),
    "comparison": lambda: render_comparison_html(compare(recorded(), every_chart(), ("before", "after"))),
    "hostile-vendor": lambda: render("vendor-html", unusual()),
    "unreachable": lambda: render("html", report(3, *EMPTY, **NOBODY)),
    "ten-thousand": lambda: render("html", large(10_000)),
    "forty": lambda: render("html", large(40)),
}
