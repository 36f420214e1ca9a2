"""From the text of a metrics page to the reading it holds."""

from specaudit.counters.interface import Reading
from specaudit.counters.page import PageError, parse
from specaudit.counters.registry import find, names


def read_page(text: str, content_type: str = "") -> Reading:
    """Parse a page and read its speculation counters in the dialect that wrote it.

    Raises:
        PageError: it is no metrics page, no known engine wrote it, or it has no speculation counters.
    """
    samples = parse(text, content_type)
    dialect = find(samples)
    if dialect is None:
        raise PageError(f"the page is of no engine known here ({', '.join(names())})")
    return dialect.read(samples)
