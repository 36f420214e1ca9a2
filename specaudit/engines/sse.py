"""Server-sent events, as far as servers of tokens use them."""

import re
from collections.abc import Iterator

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def payloads(text: str) -> Iterator[str]:
    """Yield the data of each event of a stream, the last one even where no empty line closes it.

    Comments, which keep connections open, and fields other than `data` are passed over.

    Source: HTML Living Standard, 9.2.6 (interpreting an event stream).
    """
    data: list[str] = []
    for line in (*_LINE_ENDS.split(text), ""):
        name, _, value = line.partition(":")
        if name == "data" and line:
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
