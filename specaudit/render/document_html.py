"""A document as one page of HTML."""

from specaudit.render.document import Document, Heading
from specaudit.render.page import page


def write_html(document: Document) -> str:
    """Return the page; texts must be safe to print already."""
    numbered = [(f"part-{number}", block) for number, block in enumerate(document.blocks)]
    parts = [(at, block.text) for at, block in numbered if isinstance(block, Heading) and block.level == 2]
    return page("document.html.j2", document=document, blocks=numbered, parts_list=parts)
