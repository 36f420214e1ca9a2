"""A document for a person at a terminal."""

import io
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Line

from specaudit.render.console import console
from specaudit.render.document import Answer, Block, Code, Document, Grid, Heading, Items, Picture, Quote, Text

_STYLES = {"CONFORMS": "green", "SAME": "green", "BETTER": "green", "VIOLATES": "bold red", "WORSE": "bold red"}


def write_terminal(document: Document, *, width: int = 80, color: bool = False) -> str:
    """Return the document as text of `width` columns, with ANSI colours or without any escape sequence."""
    out = io.StringIO()
    screen = console(out, width, color=color)
    head = Line.assemble((document.word, _STYLES.get(document.word, "yellow")), f"  {document.told}")
    screen.print(Group(head, *(part for block in document.blocks for part in _parts(block))), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(block: Block) -> Iterator[RenderableType]:
    match block:
        case Heading():
            yield Line()
            yield Line(block.text, style="bold")
        case Text() | Quote():
            yield Line(block.text)
        case Items():
            yield from (Padding(Line(line), (0, 0, 0, 2), expand=False) for line in block.lines)
        case Code():
            yield from (Line(f"  {line}", no_wrap=True, overflow="ignore") for line in block.text.splitlines())
        case Grid():
            yield Line()
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
            for place, head in enumerate(block.heads):
                table.add_column(head, no_wrap=place == 0, overflow="fold")
            for row in block.rows:
                table.add_row(*map(Line, row))
            yield table
        case Picture() | Answer():
            return
