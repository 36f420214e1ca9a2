"""A check's docstring by its parts: what it demands, its statistic, what it assumes, its source, what it kills."""

import inspect
import re
from functools import cache

from specaudit.checks import registry
from specaudit.model.errors import UsageError

_PART = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?): ", re.MULTILINE)


@cache
def paragraphs(check_id: str) -> dict[str, str]:
    """Return the paragraphs that begin with a name and a colon by that name, each on one line; the others under ``.

    A part may go on in paragraphs of its own. Nothing for a check that is not installed here.
    """
    try:
        text = inspect.getdoc(type(registry.get(check_id))) or ""
    except UsageError:
        return {}
    found: dict[str, str] = {}
    name = ""
    for paragraph in text.split("\n\n"):
        if named := _PART.match(paragraph):
            name = named.group(1)
            paragraph = paragraph[named.end() :]
        line = " ".join(paragraph.split())
        found[name] = f"{found[name]} {line}" if name in found else line
    return found
