"""A document as a list of blocks, told once: pages of HTML, Markdown and terminals each write it in their way."""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.model.exhibit import Exhibit


@dataclass(frozen=True)
class Heading:
    """A title; level 2 is that of a part."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Quote:
    """What somebody else said."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Commands, to be copied."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table; `name` is read to whoever cannot see it."""

    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A series that a page draws; elsewhere it is left out, as the report has its figures."""

    exhibit: Exhibit


@dataclass(frozen=True)
class Answer:
    """A place to write in."""

    text: str


Block = Heading | Text | Quote | Items | Code | Grid | Picture | Answer


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with its verdict first."""

    kind: str
    """What it is, e.g. `comparison`."""
    word: str
    """The verdict, in capitals."""
    told: str
    """What the verdict means here, in a sentence."""
    blocks: Sequence[Block]
