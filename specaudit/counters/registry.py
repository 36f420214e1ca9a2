"""The dialects there are; a new one is a file in `dialects/` and an entry here."""

from collections.abc import Sequence

from specaudit.counters.dialects.llamacpp import LLAMACPP
from specaudit.counters.dialects.lmdeploy import LMDEPLOY
from specaudit.counters.dialects.sglang import SGLANG
from specaudit.counters.dialects.tensorrt_llm import TENSORRT_LLM
from specaudit.counters.dialects.tgi import TGI
from specaudit.counters.dialects.vllm import VLLM
from specaudit.counters.dialects.vllm_v0 import VLLM_V0
from specaudit.counters.interface import Dialect
from specaudit.counters.page import Sample

_DIALECTS: tuple[Dialect, ...] = (VLLM_V0, VLLM, SGLANG, TENSORRT_LLM, LLAMACPP, LMDEPLOY, TGI)


def find(samples: Sequence[Sample]) -> Dialect | None:
    """The first dialect that recognises the page, None if no engine known here wrote it."""
    return next((dialect for dialect in _DIALECTS if dialect.recognises(samples)), None)


def get(name: str) -> Dialect | None:
    """The dialect of this name, None if there is none."""
    return next((dialect for dialect in _DIALECTS if dialect.name == name), None)


def names() -> tuple[str, ...]:
    """The names of all dialects, in the order in which they are tried."""
    return tuple(dialect.name for dialect in _DIALECTS)


def all_dialects() -> tuple[Dialect, ...]:
    """All dialects, in the order in which they are tried."""
    return _DIALECTS
