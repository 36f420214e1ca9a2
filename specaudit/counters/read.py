"""From the text of a metrics page to the readings it holds, one for each replica."""

import re

from specaudit.counters.interface import Dialect, Reading
from specaudit.counters.page import PageError, parse
from specaudit.counters.registry import all_dialects, find, get, names


def _wanted() -> re.Pattern[str]:
    """What the lines begin with that any dialect reads: nine tenths of a page are histograms, and of no use here."""
    prefixes = "|".join(re.escape(dialect.prefix).replace(":", "[:_]") for dialect in all_dialects())
    counts = rf"(?:{prefixes})(?![\w:]*_(?:bucket|count|sum)[\s{{])"
    histograms = "tgi_request_(?:skipped|generated)_tokens"
    return re.compile(rf"\s*(?:{counts}|{histograms}|process_start_time_seconds|(?:\w+[_:])?uptime_seconds)")


_WANTED = _wanted()


def read_page(text: str, content_type: str = "", dialect: str | None = None) -> tuple[Reading, ...]:
    """Parse a page and read its speculation counters.

    Args:
        text: The page.
        content_type: The `Content-Type` header it came with.
        dialect: Name of the dialect that it is in; by default it is found from the page.

    Returns:
        A reading for each replica that the page shows apart, at least one.

    Raises:
        PageError: It is no metrics page, no known engine wrote it, or it has no speculation counters.
        ValueError: There is no such dialect.
    """
    chosen = _named(dialect) if dialect else None
    samples = parse(text, content_type, _WANTED) or parse(text, content_type)
    found = chosen or find(samples)
    if found is None:
        raise PageError(f"the page is of no engine known here ({', '.join(names())})")
    return found.read(samples)


def _named(name: str) -> Dialect:
    dialect = get(name)
    if dialect is None:
        raise ValueError(f"there is no dialect {name!r}; there are {', '.join(names())}")
    return dialect
