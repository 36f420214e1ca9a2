"""Regular expressions as grammars: which tokens may come next so that the text can still become a match.

Source: Brzozowski, "Derivatives of regular expressions", JACM 1964. What is left of a pattern behind a character is a
pattern again; those that occur are the automaton's states.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from specaudit.decoding.automata import Grammar

Node = tuple[Any, ...]
"""A pattern: ("none",) matches nothing, ("end",) the empty text, ("set", characters, negated) one character, ("then",
a, b), ("or", patterns) and ("star", a) what they are made of."""

_NONE: Node = ("none",)
_END: Node = ("end",)
_ANY: Node = ("set", frozenset("\n"), True)
_CLASSES = {
    "d": "0123456789",
    "s": " \t\n\r\f\v",
    "w": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
}
_MOST_STATES = 10_000
_MOST_REPEATS = 1000


def grammar_of(pattern: str, texts: Sequence[str], eos: int | None = None) -> Grammar:
    r"""Make the grammar under which the text of a completion can still become a match of a whole pattern.

    Args:
        pattern: characters, `.`, classes `[a-c]`, groups, `|`, `*`, `+`, `?`, `{m}`, `{m,n}`, `\d`, `\s`, `\w`.
        texts: what each token spells `[V]`.
        eos: the token that ends a completion, allowed where the text matches; None if there is none.

    Raises:
        ValueError: the pattern is none of this form, or needs too many states.
    """
    start = _Parser(pattern).parsed()
    number = {start: 0}
    rows: list[list[int]] = []
    waiting = [start]
    for state in waiting:
        row = []
        for token, text in enumerate(texts):
            behind = (_END if _may_end(state) else _NONE) if token == eos else _behind(state, text)
            if behind not in number and behind != _NONE:
                number[behind] = len(number)
                waiting.append(behind)
            row.append(number.get(behind, -1))
        rows.append(row)
        if len(number) > _MOST_STATES:
            raise ValueError(f"the pattern {pattern!r} needs more than {_MOST_STATES} states")
    return Grammar(np.array(rows))


def _behind(node: Node, text: str) -> Node:
    for character in text:
        node = _derivative(node, character)
    return node


@lru_cache(maxsize=1 << 16)
def _derivative(node: Node, character: str) -> Node:
    match node:
        case ("set", characters, negated):
            return _END if (character in characters) != negated else _NONE
        case ("then", first, rest):
            later = _derivative(rest, character) if _may_end(first) else _NONE
            return _or([_then(_derivative(first, character), rest), later])
        case ("or", patterns):
            return _or([_derivative(one, character) for one in patterns])
        case ("star", inner):
            return _then(_derivative(inner, character), node)
        case _:
            return _NONE


def _may_end(node: Node) -> bool:
    match node:
        case ("end",) | ("star", _):
            return True
        case ("then", first, rest):
            return _may_end(first) and _may_end(rest)
        case ("or", patterns):
            return any(map(_may_end, patterns))
        case _:
            return False


def _then(first: Node, rest: Node) -> Node:
    if _NONE in (first, rest):
        return _NONE
    if first == _END:
        return rest
    if rest == _END:
        return first
    if first[0] == "then":  # to the right, so that equal patterns are equal
        return ("then", first[1], _then(first[2], rest))
    return ("then", first, rest)


def _or(patterns: Sequence[Node]) -> Node:
    flat = {one for node in patterns for one in (node[1] if node[0] == "or" else (node,)) if one != _NONE}
    return _NONE if not flat else flat.pop() if len(flat) == 1 else ("or", frozenset(flat))


class _Parser:
    """Reads a pattern by recursive descent."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def parsed(self) -> Node:
        """Return the whole pattern."""
        node = self._alternatives()
        if self._at < len(self._pattern):
            raise self._wrong("a ) closes nothing")
        return node

    def _alternatives(self) -> Node:
        found = [self._sequence()]
        while self._takes("|"):
            found.append(self._sequence())
        return _or(found)

    def _sequence(self) -> Node:
        parts = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))
        node = _END
        for part in reversed(parts):
            node = _then(part, node)
        return node

    def _repeated(self, node: Node) -> Node:
        while self._at < len(self._pattern) and self._pattern[self._at] in "*+?{":
            sign = self._next()
            if sign == "{":
                low, high = self._counts()
                rest = ("star", node) if high is None else _END
                for place in range(low if high is None else high, 0, -1):
                    rest = _then(node, rest) if place <= low else _or([_END, _then(node, rest)])
                node = rest
            else:
                star = ("star", node)
                node = {"*": star, "+": _then(node, star), "?": _or([_END, node])}[sign]
        return node

    def _counts(self) -> tuple[int, int | None]:
        end = self._pattern.find("}", self._at)
        low, comma, high = self._pattern[self._at : max(end, self._at)].partition(",")
        self._at = end + 1
        if end < 0 or not low.isdecimal() or not (high.isdecimal() or not high):
            raise self._wrong("{ wants a count, as in {3} or {2,5}")
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise self._wrong(f"counts must rise, to {_MOST_REPEATS} at most")
        return least, most

    def _atom(self) -> Node:
        match character := self._next():
            case "(":
                if self._takes("?") and not self._takes(":"):
                    raise self._wrong("only groups ( ) and (?: ) are known")
                node = self._alternatives()
                if not self._takes(")"):
                    raise self._wrong("a ( is not closed")
                return node
            case "[":
                return self._class()
            case ".":
                return _ANY
            case "\\":
                return ("set", frozenset(self._escaped()), False)
            case "*" | "+" | "?" | "{" | "^" | "$":
                raise self._wrong(f"{character} repeats nothing, or is an anchor; a \\ before it makes it a character")
            case _:
                return ("set", frozenset(character), False)

    def _class(self) -> Node:
        negated = self._takes("^")
        characters: set[str] = set()
        while not self._takes("]"):
            first = self._next()
            if first == "\\":
                characters |= set(self._escaped())
            elif self._pattern[self._at : self._at + 1] == "-" and self._pattern[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                characters |= {chr(code) for code in range(ord(first), ord(self._next()) + 1)}
            else:
                characters.add(first)
        return ("set", frozenset(characters), negated)

    def _escaped(self) -> str:
        character = self._next()
        if character.isalnum() and character not in _CLASSES:
            raise self._wrong(f"\\{character} is not known")
        return _CLASSES.get(character, character)

    def _takes(self, character: str) -> bool:
        found = self._pattern[self._at : self._at + 1] == character
        self._at += found
        return found

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._wrong("it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _wrong(self, why: str) -> ValueError:
        return ValueError(f"the pattern {self._pattern!r} cannot be read at character {self._at}: {why}")
