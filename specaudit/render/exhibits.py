"""Exhibits that a report's own records amount to: effects against tolerances, bets, views, paths taken."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import log10

from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Betting, Finding, View
from specaudit.model.report import Report

_E = log10(2.718281828459045)


def effects(report: Report) -> Exhibit | None:
    """Return the effects of all checks that have a tolerance, each as a multiple of it, the largest first."""
    rows = [
        (finding.check, effect, effect.tolerance)
        for finding in report.findings
        if (effect := finding.effect) is not None and effect.tolerance
    ]
    if not rows:
        return None
    if len(rows) > _ROWS:
        rows.sort(key=lambda row: -max(row[1].value, row[1].high or 0.0) / row[2])
    left = len(rows) - _ROWS
    rows = rows[:_ROWS]
    return Exhibit(
        title="Effects against tolerances",
        form="intervals",
        columns=(
            Column(name="check", values=tuple(check for check, _, _ in rows)),
            Column(
                name="effect",
                values=tuple(effect.value / tolerance for _, effect, tolerance in rows),
                unit="multiples of its tolerance",
            ),
            Column(name="low", values=tuple(_over(effect.low, tolerance) for _, effect, tolerance in rows)),
            Column(name="high", values=tuple(_over(effect.high, tolerance) for _, effect, tolerance in rows)),
            Column(name="tolerance", values=tuple(tolerance for _, _, tolerance in rows)),
            Column(name="what is measured", values=tuple(effect.name for _, effect, _ in rows)),
        ),
        rules={"tolerance": 1.0},
        note="A check conforms where its upper bound lies below its tolerance."
        + (f" The {left:,} smallest of all are left out." if left > 0 else ""),
    )


_ROWS = 40
"""Most effects that are drawn."""


def of_finding(finding: Finding) -> Iterator[Exhibit]:
    """Yield what a finding can show: its views, its bets, its own series, the paths that were taken."""
    if len(finding.views) > 1:
        yield views(finding.views)
    if finding.betting is not None and len(finding.betting.path) > 1:
        yield wealth(finding.betting)
    yield from finding.exhibits
    if any(count is not None for count in finding.coverage.values()):
        yield Exhibit(
            title="Paths that were exercised",
            form="bars",
            columns=(
                Column(name="path", values=tuple(finding.coverage)),
                Column(name="times, at least", values=tuple(_float(count) for count in finding.coverage.values())),
            ),
        )


def views(shown: Sequence[View]) -> Exhibit:
    """Return the effect of each view with its bounds."""
    first = shown[0].effect
    common, parts = _told_apart([view.name for view in shown])
    return Exhibit(
        title=f"{first.name[:1].upper()}{first.name[1:]}{f', {common} …' if common else ', by part'}",
        form="intervals",
        columns=(
            Column(name=common or "part", values=tuple(parts)),
            Column(name=first.name, values=tuple(view.effect.value for view in shown), unit=first.unit),
            Column(name="low", values=tuple(view.effect.low for view in shown)),
            Column(name="high", values=tuple(view.effect.high for view in shown)),
            Column(name="usual without any deviation", values=tuple(view.effect.under_equality for view in shown)),
            Column(name="draws", values=tuple(float(view.samples) for view in shown)),
            Column(name="law", values=tuple(view.law for view in shown)),
        ),
        rules={} if first.tolerance is None else {"tolerance": first.tolerance},
    )


def _told_apart(names: Sequence[str]) -> tuple[str, list[str]]:
    """The words with which all names begin, and what is left of each."""
    words = [name.split() for name in names]
    same = list(takewhile(lambda column: len(set(column)) == 1, zip(*(one[:-1] for one in words), strict=False)))
    return " ".join(column[0] for column in same), [" ".join(one[len(same) :]) for one in words]


def wealth(betting: Betting) -> Exhibit:
    """Return what bets against the null earned, after so many tokens."""
    return Exhibit(
        title="What bets against the target's law earned",
        form="path",
        columns=(
            Column(name="tokens", values=tuple(float(tokens) for tokens, _ in betting.path)),
            Column(
                name="e-value",
                values=tuple(None if value is None else value * _E for _, value in betting.path),
                unit="decimal logarithm",
            ),
        ),
        rules={} if betting.threshold is None else {"threshold": betting.threshold * _E},
        note="From the threshold on, which is 1 over their share of the error budget, they have shown a deviation.",
    )


def _over(bound: float | None, tolerance: float) -> float | None:
    return None if bound is None else bound / tolerance


def _float(count: int | None) -> float | None:
    return None if count is None else float(count)
