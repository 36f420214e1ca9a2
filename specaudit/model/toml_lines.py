"""On which line a key stands in a TOML text: `tomllib` tells what was written, but not where."""

import re
import tomllib
from collections.abc import Iterator

Keys = tuple[str, ...]
"""The keys from the root of the document down to a value; indices into arrays are left out."""

_TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<text> \"{3} (?:\\.|[^\\])*? \"{3,5} | '{3} .*? '{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<mark> [\[\]{}=,.\n] )
    | (?P<bare> [^\s\[\]{}=,.\#"']+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def key_lines(text: str) -> dict[Keys, int]:
    """Return the line, from 1, on which each key and each table of a valid TOML text first stands."""
    lines: dict[Keys, int] = {}
    table: Keys = ()
    path: Keys = ()
    around: list[tuple[Keys, bool]] = []
    """The inline tables (True) and arrays (False) that the text stands inside of, with the keys down to each."""
    key: list[str] = []
    at_key, in_header = True, False
    for token, is_name, line in _tokens(text):
        if is_name:
            if at_key:
                key.append(token)
        elif token == "=" and at_key:
            path = (*(around[-1][0] if around else table), *key)
            _note(lines, path, line)
            at_key = False
        elif token == "[" and at_key and not around:
            in_header = True
        elif token == "]" and in_header:
            table = tuple(key)
            _note(lines, table, line)
            at_key, in_header = False, False
        elif token in "[{":
            at_key = token == "{"
            around.append((path, at_key))
            key = []
        elif token in "]}" and around:
            path, _ = around.pop()
            at_key = False
        elif (token == "\n" and not around) or (token == "," and around and around[-1][1]):
            key, at_key = [], True
    return lines


def _tokens(text: str) -> Iterator[tuple[str, bool, int]]:
    """(token, whether it may be part of a key, line) of everything but comments and blanks."""
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if match.lastgroup == "text":
            yield (tomllib.loads(f"text = {token}")["text"], True, line)
        elif match.lastgroup != "comment":
            yield (token, match.lastgroup == "bare", line)
        line += token.count("\n")


def _note(lines: dict[Keys, int], path: Keys, line: int) -> None:
    """Keep the first line on which a key, or a dotted key that leads through it, stands."""
    for end in range(1, len(path) + 1):
        lines.setdefault(path[:end], line)
