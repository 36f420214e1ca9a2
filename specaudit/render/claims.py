"""Judged claims for a person at a terminal: the ruling first, then why, what would make it true, and what to ask."""

import io
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from specaudit.claims.judgement import Judgement, Ruling
from specaudit.render.console import console
from specaudit.render.printable import printable_record

STYLES = {
    Ruling.IMPOSSIBLE: "bold red",
    Ruling.MEASURED_FALSE: "bold red",
    Ruling.CONDITIONAL: "yellow",
    Ruling.NOT_MEASURABLE: "yellow",
    Ruling.PLAUSIBLE: "green",
    Ruling.MEASURED_TRUE: "green",
}


def render_claims(judgements: Sequence[Judgement], *, width: int = 80, color: bool = False) -> str:
    """Return the judgements as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    screen = console(out, width, color=color)
    for number, judgement in enumerate(judgements):
        parts = _parts(printable_record(judgement))
        screen.print(Group(*([Text()] if number else []), *parts), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(judgement: Judgement) -> Iterator[RenderableType]:
    claim, ruling = judgement.claim, judgement.ruling
    yield Text.assemble((ruling.value.upper(), STYLES[ruling]), f"  {claim.title or judgement.name}")
    quoted = claim.wording if claim.paraphrased else f"“{claim.wording}”"
    yield Text(f"{'In our words: ' if claim.paraphrased else ''}{quoted}", style="dim")
    yield Text(f"{claim.source}, {claim.date}", style="dim", no_wrap=True, overflow="ignore")
    if judgement.reasons:
        yield Text()
        yield from _list(judgement.reasons)
    for title, lines in sections(judgement):
        yield Text()
        yield Text(f"{title}:", style="bold")
        yield from _list(lines)


def sections(judgement: Judgement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the lists of a judgement that are not empty, each with its title."""
    found = (
        ("Measured", tuple(one.words for one in judgement.measured)),
        ("Memory and arithmetic allow it only with", tuple(one.words for one in judgement.only_if)),
        ("At usual efficiency", tuple(one.words for one in judgement.usually)),
        ("Known besides", judgement.claim.remarks),
        ("Ask", judgement.questions),
    )
    return ((title, lines) for title, lines in found if lines)


def _list(lines: Sequence[str]) -> Iterator[RenderableType]:
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2), expand=False)
