"""Tokens that spell something: cutting a text into them, and the text of an example."""

import re
from collections.abc import Sequence

_CODE = """\
def mean(values):
    count = 0
    for value in values:
        count += value
    return count / len(values)
"""

END = "■"
"""Ends a completion."""

RENAME_PROMPT = f"# rename count to total\n{_CODE}\n"
"""Asks for the code with one name changed."""

RENAMED = _CODE.replace("count", "total") + END
"""What is asked for."""


def lexemes(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text, each with the blanks before it, and its line breaks; each once."""
    return tuple(dict.fromkeys(re.findall(r" *(?:\w+|[^\w\s])|\s+", text)))


def encode(text: str, texts: Sequence[str]) -> tuple[int, ...]:
    """Cut a text into tokens, the longest that fits first.

    Args:
        text: what is to be spelt.
        texts: what each token spells `[V]`.

    Raises:
        ValueError: somewhere no token fits.
    """
    longest_first = sorted(range(len(texts)), key=lambda token: -len(texts[token]))
    tokens: list[int] = []
    place = 0
    while place < len(text):
        fits = (token for token in longest_first if texts[token] and text.startswith(texts[token], place))
        if (token := next(fits, None)) is None:
            raise ValueError(f"no token spells what begins with {text[place : place + 10]!r}")
        tokens.append(token)
        place += len(texts[token])
    return tuple(tokens)


def spell(tokens: Sequence[int], texts: Sequence[str]) -> str:
    """Return what tokens spell."""
    return "".join(texts[token] for token in tokens)
