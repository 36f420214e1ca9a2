"""Engines by name. A name is a family, with what follows its first colon left to the family.

An adapter is one file with a function `build(arm, access) -> Engine`; it is registered by a line here, or by
another package through the entry-point group `specaudit.engines`.
"""

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from specaudit.engines.interface import Access, Engine
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.plan import Arm

BUILT_IN = {
    "reference": "specaudit.engines.reference",
    "mutant": "specaudit.engines.mutant",
    "control": "specaudit.engines.mutant",
    "verify": "specaudit.engines.verify",
    "auto": "specaudit.engines.auto",
    "openai": "specaudit.engines.openai",
    "vllm": "specaudit.engines.vllm",
    "sglang": "specaudit.engines.sglang",
    "llamacpp": "specaudit.engines.llamacpp",
    "tgi": "specaudit.engines.tgi",
    "tensorrt_llm": "specaudit.engines.tensorrt_llm",
    "openvino": "specaudit.engines.openvino",
    "transformers": "specaudit.engines.transformers",
}

LOADS_MODELS = ("openvino", "transformers")
"""Engines in process that load a target, and perhaps a draft model, from a folder."""

IN_PROCESS = frozenset({"reference", "mutant", "control", "verify", *LOADS_MODELS})
"""Built-in families that have no address."""

DESCRIPTIONS = {
    "reference": "the embedded reference decoder, in process",
    "mutant": "mutant:NAME[:DOSE], the reference decoder with one planted fault, in process",
    "control": "control:NAME, an unusual but right decoder, in process",
    "verify": "verify:MODULE:FUNCTION or verify:FILE.py:FUNCTION, the reference decoder with your verifier, in process",
    "auto": "whichever of the following answers at --endpoint",
    "openai": "any server with an OpenAI-compatible /v1/completions or /v1/chat/completions (--endpoint)",
    "vllm": "vLLM's server (--endpoint)",
    "sglang": "SGLang, /generate or /v1/chat/completions (--endpoint)",
    "llamacpp": "llamacpp[:NAME=VALUE,…], llama.cpp, /completion or /v1/chat/completions (--endpoint)",
    "tgi": "text-generation-inference, /generate or /v1/chat/completions (--endpoint)",
    "tensorrt_llm": "trtllm-serve of TensorRT-LLM (--endpoint)",
    "openvino": "openvino[:generate], OpenVINO GenAI, in process: --target PATH with --draft PATH or "
    "--speculation lookup",
    "transformers": "transformers' generate, in process: --target PATH with --draft PATH or --speculation lookup",
}


def modules() -> dict[str, str]:
    """Return the module of every known engine family, built in or from an installed package."""
    plugged = {point.name: point.value for point in entry_points(group="specaudit.engines")}
    return plugged | BUILT_IN


def family_of(engine: str) -> str:
    """Return the family that an engine's name begins with."""
    return engine.split(":", 1)[0]


def build(arm: Arm, access: Access) -> Engine:
    """Return the engine of an arm.

    Raises:
        UsageError: no engine has that name.
    """
    family = family_of(arm.engine)
    known = modules()
    if family not in known:
        raise UsageError(f"There is no engine named {family!r}.{nearest(family, known)}", hint="specaudit list engines")
    return cast(Engine, import_module(known[family]).build(arm, access))
