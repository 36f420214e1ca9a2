"""A document as Markdown, written for GitHub's flavour."""

from collections.abc import Iterator

from specaudit.render.document import Answer, Block, Code, Document, Grid, Heading, Items, Picture, Quote, Text
from specaudit.render.markdown import block_of, inert


def write_markdown(document: Document) -> str:
    """Return the page; texts must be safe to print already."""
    return "\n\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield f"# specaudit, {document.kind}: {document.word}"
    yield inert(document.told)
    for block in document.blocks:
        if text := _written(block):
            yield text


def _written(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {inert(block.text)}"
        case Text():
            return inert(block.text)
        case Quote():
            return f"> {inert(block.text)}"
        case Items():
            return "\n".join(f"- {inert(line)}" for line in block.lines)
        case Code():
            return block_of(block.text)
        case Grid():
            rows = [block.heads, ["---"] * len(block.heads), *([inert(cell) for cell in row] for row in block.rows)]
            return "\n".join(f"| {' | '.join(row)} |" for row in rows)
        case Answer():
            return f"> _{inert(block.text)}_\n>\n> &nbsp;"
        case Picture():
            return ""
