"""The dialects there are; a new one is a file in `dialects/` and an entry here."""

from collections.abc import Sequence

from specaudit.counters.dialects.llamacpp import LLAMACPP
from specaudit.counters.dialects.vllm import VLLM
from specaudit.counters.interface import Dialect
from specaudit.counters.page import Sample

_DIALECTS: tuple[Dialect, ...] = (VLLM, LLAMACPP)


def find(samples: Sequence[Sample]) -> Dialect | None:
    """The first dialect that recognises the page, None if no engine known here wrote it."""
    return next((dialect for dialect in _DIALECTS if dialect.recognises(samples)), None)


def names() -> tuple[str, ...]:
    """The names of all dialects, in the order in which they are tried."""
    return tuple(dialect.name for dialect in _DIALECTS)
