"""Prompt sets: lists of texts by name, shipped as data beside the suites."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from specaudit.model.record import Record
from specaudit.model.shipped import shipped_files

MIXED = "mixed"
"""What checks ask unless a suite names another set."""

TOKENS = "tokens"
"""Random token ids, for engines that take these; what tiny vocabularies are asked anyway."""


class PromptSet(Record, frozen=True, kw_only=True):
    """A set as its file has it."""

    title: str
    prompts: tuple[str, ...]


def names() -> tuple[str, ...]:
    """Return the names of all sets."""
    return (*_files(), TOKENS)


@cache
def load(name: str) -> PromptSet:
    """Return a set of texts by its name.

    Raises:
        KeyError: there is no such set.
    """
    return msgspec.convert(tomllib.loads(_files()[name].read_text(encoding="utf-8")), type=PromptSet)


def title(name: str) -> str:
    """Return what is in a set."""
    return "random token ids" if name == TOKENS else load(name).title


@cache
def _files() -> dict[str, Path]:
    return shipped_files("prompts")
