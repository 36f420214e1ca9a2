"""In which order engines apply their filters, and what their penalties look at.

Each order was read in the engine's own source, in the version that is named; versions differ. Two orders that agree
parameter by parameter still make two laws when several filters are on: top-p keeps more tokens when it comes before
the temperature than behind it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Step = Literal[
    "allowed",
    "bad words",
    "bias",
    "repetition",
    "presence",
    "frequency",
    "temperature",
    "min-p",
    "top-k",
    "top-p",
    "top-k and top-p",
]
"""A filter. `top-k and top-p` cuts one and the same law in both ways; after a step of its own a filter sees what the
filter before it left, renormalised."""


@dataclass(frozen=True, kw_only=True)
class FilterOrder:
    """How one engine makes the law that it draws from."""

    engine: str
    steps: tuple[Step, ...]
    """In order. What is not named is not to be had from this engine, or not with the meaning that it has here."""
    sees_prompt: frozenset[Step] = frozenset({"repetition"})
    """Steps that look at the prompt's tokens too; other steps look at the completion's only."""
    window: int | None = None
    """Penalties look at so many of the last tokens; None looks at all."""
    source: str

    @cached_property
    def places(self) -> frozenset[str]:
        """The filters that have a place, those of a joint step by themselves too."""
        return frozenset(part for step in self.steps for part in (step, *step.split(" and ")))

    @property
    def top_k_is_first_cut(self) -> bool:
        """No filter that needs the whole law to be known stands before top-k."""
        return "top-k" in self.steps and ("top-p" not in self.steps or self._place("top-k") < self._place("top-p"))

    def _place(self, step: Step) -> int:
        return self.steps.index(step)


VLLM = FilterOrder(
    engine="vllm",
    steps=(
        "allowed",
        "bad words",
        "bias",
        "repetition",
        "frequency",
        "presence",
        "temperature",
        "min-p",
        "top-k",
        "top-p",
    ),
    source="vLLM 0.11 and later, v1/sample/sampler.py; under speculation bias and min-p are refused",
)

LLAMA_CPP = FilterOrder(
    engine="llama.cpp",
    steps=("bias", "repetition", "frequency", "presence", "top-k", "top-p", "min-p", "temperature"),
    sees_prompt=frozenset({"repetition", "frequency", "presence"}),
    window=64,
    source="llama.cpp b5000 and later, common/common.h: penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, "
    "temperature; common/sampling.cpp puts the bias first; penalty_last_n is 64 unless the request says otherwise",
)

SGLANG = FilterOrder(
    engine="sglang",
    steps=("frequency", "presence", "repetition", "bias", "temperature", "top-k and top-p", "min-p"),
    sees_prompt=frozenset(),
    source="SGLang 0.5, srt/sampling/sampling_batch_info.py (apply_logits_bias) and srt/layers/sampler.py: top-k and "
    "top-p jointly, but one after the other where min-p is asked for",
)

TENSORRT_LLM = FilterOrder(
    engine="tensorrt-llm",
    steps=("bias", "temperature", "repetition", "presence", "frequency", "bad words", "top-k", "top-p"),
    sees_prompt=frozenset({"repetition", "presence", "frequency", "bad words"}),
    source="TensorRT-LLM 0.20, cpp/tensorrt_llm/kernels/penaltyKernels.cu and layers/samplingLayer.cpp; where min-p "
    "stands was not read",
)

TRANSFORMERS = FilterOrder(
    engine="transformers",
    steps=("bias", "repetition", "bad words", "temperature", "top-k", "top-p", "min-p"),
    sees_prompt=frozenset({"repetition", "bad words"}),
    source="transformers 4.57, generation/utils.py (_get_logits_processor); it has no presence or frequency penalty",
)

TGI = FilterOrder(
    engine="tgi",
    steps=("repetition", "temperature", "top-k", "top-p"),
    source="text-generation-inference 3.3, utils/tokens.py; its frequency penalty scales logits as a repetition "
    "penalty does (utils/logits_process.py), which is not OpenAI's, so it is not named here",
)

OPENVINO = FilterOrder(
    engine="openvino",
    steps=("repetition", "top-k", "temperature", "min-p", "top-p"),
    source="OpenVINO GenAI 2026, src/cpp/src/sampling/logit_processor.hpp; its presence and frequency penalties are "
    "added to negative logits (logit_transformers.hpp), which is not OpenAI's meaning, so they are not named here",
)

ORDERS = {order.engine: order for order in (VLLM, LLAMA_CPP, SGLANG, TENSORRT_LLM, TRANSFORMERS, TGI, OPENVINO)}
"""By the engine's name."""


def order_of(engine: str) -> FilterOrder:
    """Return the order of an engine that an adapter names; vLLM's where it is not known, which most servers follow."""
    return ORDERS.get(engine.split(":", 1)[0], VLLM)
