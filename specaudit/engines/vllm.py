"""vLLM's server (0.11 to 0.33): OpenAI's interface, to which it added most of what others took over.

Token ids come by `return_token_ids`, prompts are scored by `prompt_logprobs`, and what was drafted for an answer stands
in `metrics.speculative_decoding` where the server was started with `--per-request-spec-decode-metrics`. Under
speculation it refuses `min_p` and `logit_bias` (400), and it ignores fields that it does not know (0.32, observed).
Defaults of a model's `generation_config.json` hold for temperature, top_p, top_k, min_p, repetition_penalty and the
number of tokens; every one of them is sent.
"""

from collections.abc import Mapping
from typing import Any

from specaudit.engines.adapter import Adapter, Sign
from specaudit.engines.interface import Access
from specaudit.engines.openai_form import OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.model.plan import Arm

FURTHER: Mapping[str, Any] = {
    "min_tokens": 0,
    "use_beam_search": False,
    "length_penalty": 1.0,
    "include_stop_str_in_output": False,
}
"""Parameters of its own, with the values that change nothing (vllm/entrypoints/openai/protocol.py)."""

ADAPTER = Adapter(
    name="vllm",
    form=lambda api: OpenAIForm(engine="vllm", further=FURTHER),
    sign=Sign(owner="vllm", page="/version"),
)


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access, ADAPTER)
