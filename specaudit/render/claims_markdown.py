"""Judged claims as one page of Markdown: a table of rulings, then each claim with its reasoning."""

import re
from collections.abc import Iterator, Sequence

from specaudit.claims.judgement import Judgement
from specaudit.render.claims import sections
from specaudit.render.markdown import inert
from specaudit.render.printable import printable_record


def render_claims_markdown(judgements: Sequence[Judgement]) -> str:
    """Return the page."""
    shown = [printable_record(judgement) for judgement in judgements]
    return "\n\n".join(_blocks(shown)) + "\n"


def _blocks(judgements: Sequence[Judgement]) -> Iterator[str]:
    yield "# Claims, judged"
    yield (
        "Each claim is held against memory and arithmetic: what a step must read, over what the hardware can. Nothing "
        "here was measured unless it says so. *Plausible* means within what is declared usual: three quarters of the "
        "bandwidth, half of the dense arithmetic, at most eight drafts, each accepted with .85 at most. Drafting is "
        "taken to be free, which favours the claim."
    )
    rows = [f"| [{_title(one)}](#{one.name}) | {one.ruling.value} | {_needs(one)} |" for one in judgements]
    yield "\n".join(["| claim | ruling | tokens a step needed |", "|---|---|---|", *rows])
    for one in judgements:
        yield from _claim(one)


def _title(judgement: Judgement) -> str:
    return inert(judgement.claim.title or judgement.name)


def _needs(judgement: Judgement) -> str:
    needed = judgement.tokens_needed
    return "" if needed is None else f"{needed:.2f}" if needed > 1 else "one"


def _claim(judgement: Judgement) -> Iterator[str]:
    claim = judgement.claim
    yield f'<a id="{inert(judgement.name)}"></a>\n\n## {_title(judgement)}'
    said = "In our words, as the source could not be read" if claim.paraphrased else "Word for word"
    yield f"**{judgement.ruling.value}**. {said}:"
    yield f"> {inert(claim.wording)}"
    yield f"{_source(claim.source)}, {claim.date}"
    if judgement.reasons:
        yield _list(judgement.reasons)
    for title, lines in sections(judgement):
        yield f"{title}:"
        yield _list(lines)


_ADDRESS = re.compile(r"https://[\w./~%-]+")


def _source(text: str) -> str:
    """A plain address as a link, anything else as it stands."""
    return f"<{text}>" if _ADDRESS.fullmatch(text) else inert(text)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {inert(line)}" for line in lines)
