"""Two audits side by side, as a document: what became worse first."""

from collections.abc import Iterator

from specaudit.model.comparison import Comparison, Row, Side
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Effect, Verdict
from specaudit.model.report import EXIT_CONFORMS, EXIT_COULD_NOT_TEST
from specaudit.render.document import Block, Document, Grid, Heading, Items, Picture, Text
from specaudit.render.document_html import write_html
from specaudit.render.document_markdown import write_markdown
from specaudit.render.document_terminal import write_terminal
from specaudit.render.page import LONGEST
from specaudit.render.printable import printable_record
from specaudit.render.sentences import drafting

_ORDER = ("worse", "new", "gone", "better", "same")


def render_comparison_html(found: Comparison) -> str:
    """Return the comparison as a page."""
    return write_html(_document(found))


def render_comparison_markdown(found: Comparison) -> str:
    """Return the comparison as Markdown."""
    return write_markdown(_document(found))


def render_comparison_terminal(found: Comparison, *, width: int = 80, color: bool = False) -> str:
    """Return the comparison as text of `width` columns."""
    return write_terminal(_document(found), width=width, color=color)


def _document(found: Comparison) -> Document:
    shown = printable_record(found, longest=LONGEST)
    word, told = _verdict(shown)
    return Document(kind="comparison", word=word, told=told, blocks=list(_blocks(shown)))


def _verdict(found: Comparison) -> tuple[str, str]:
    worse = [row.check for row in found.rows if row.change == "worse"]
    names = f"{found.second.name} beside {found.first.name}"
    if found.exit_code == EXIT_COULD_NOT_TEST:
        return "NOTHING IN COMMON", f"no check was run in both: {names}."
    if found.exit_code != EXIT_CONFORMS or worse:
        fresh = [row.check for row in found.rows if row.change in ("new", "gone")]
        return "WORSE", f"{', '.join(worse or fresh)}: {names}."
    better = [row.check for row in found.rows if row.change == "better"]
    return ("BETTER", f"{', '.join(better)}: {names}.") if better else ("SAME", f"no verdict changed: {names}.")


def _blocks(found: Comparison) -> Iterator[Block]:
    rows = sorted(found.rows, key=lambda row: _ORDER.index(row.change))
    yield Heading("Verdicts")
    yield Grid(
        "Verdicts of both audits",
        ["check", "change", "first", "second", "effect, first", "effect, second"],
        [
            [
                row.check,
                f"{row.change}{', effects apart' if row.apart else ''}",
                _verdict_of(row.first),
                _verdict_of(row.second),
                _effect(row.first_effect),
                _effect(row.second_effect),
            ]
            for row in rows
        ],
    )
    if (drawn := _effects(rows)) is not None:
        yield Picture(drawn)
    changed = [row for row in rows if row.change != "same" or row.apart]
    if changed:
        yield Heading("What changed")
        for row in changed:
            yield Items(
                [
                    f"{row.check}, first: {row.first_summary or 'not run'}",
                    f"{row.check}, second: {row.second_summary or 'not run'}",
                ]
            )
    if found.differences:
        yield Heading("What else differs")
        yield Items(found.differences)
    yield Heading("The audits")
    yield Items([*_side("First", found.first), *_side("Second", found.second)])
    yield Text("Effects are apart where their intervals exclude each other.")


def _verdict_of(verdict: Verdict | None) -> str:
    return "not run" if verdict is None else verdict.value


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return ""
    if effect.low is None and effect.high is None:
        return f"{effect.value:.4g}"
    low = "…" if effect.low is None else f"{effect.low:.4g}"
    high = "…" if effect.high is None else f"{effect.high:.4g}"
    return f"{effect.value:.4g} ({low} to {high})"


def _side(name: str, side: Side) -> Iterator[str]:
    yield f"{name}: {side.name}, {side.word}, suite {side.suite}, {side.tokens:,} tokens of the subject"
    for arm in side.arms:
        yield f"{name}, {arm.role}: {arm.endpoint or arm.engine}{drafting(arm)}"
    yield f"{name}, evidence: SHA-256 {side.evidence_digest}"


def _effects(rows: list[Row]) -> Exhibit | None:
    """The effects with a tolerance, those of one check one above the other."""
    both = [
        (f"{row.check} {name}", effect, effect.tolerance)
        for row in rows
        for name, effect in (("first", row.first_effect), ("second", row.second_effect))
        if effect is not None and effect.tolerance
    ][:40]
    if not both:
        return None
    return Exhibit(
        title="Effects against tolerances",
        form="intervals",
        columns=(
            Column(name="check", values=tuple(label for label, _, _ in both)),
            Column(
                name="effect",
                values=tuple(effect.value / limit for _, effect, limit in both),
                unit="multiples of its tolerance",
            ),
            Column(name="low", values=tuple(None if e.low is None else e.low / limit for _, e, limit in both)),
            Column(name="high", values=tuple(None if e.high is None else e.high / limit for _, e, limit in both)),
        ),
        rules={"tolerance": 1.0},
    )
