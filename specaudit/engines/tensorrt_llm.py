"""trtllm-serve of TensorRT-LLM (1.2): OpenAI's interface, which refuses every field that it does not know.

Token ids come in place of the text, where text is not asked for (`detokenize`). Read in tensorrt_llm/serve/
openai_protocol.py; nothing was run.
"""

from collections.abc import Mapping
from typing import Any

from specaudit.engines.adapter import Adapter, Sign
from specaudit.engines.form import Fields
from specaudit.engines.interface import Access
from specaudit.engines.openai_form import NEUTRAL, OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.model.plan import Api, Arm

FURTHER: Mapping[str, Any] = {"top_p_min": 0.0, "use_beam_search": False, "min_tokens": 0}
"""Parameters of its own, with the values that change nothing."""

_UNKNOWN = ("return_token_ids", "return_tokens_as_token_ids", "prompt_logprobs", "bad_words", "allowed_token_ids")


def _response_format(pattern: str) -> Fields:
    return {"response_format": {"type": "regex", "regex": pattern}}


def form(api: Api) -> OpenAIForm:
    """Return the form of an interface."""
    further = {**FURTHER, "detokenize": False} if api == "completions" else FURTHER
    return OpenAIForm(
        engine="tensorrt-llm",
        neutral={**NEUTRAL, "top_k": 0},
        unknown=frozenset(_UNKNOWN),
        further=further,
        grammar=_response_format,
    )


ADAPTER = Adapter(name="tensorrt_llm", form=form, sign=Sign(owner="tensorrt_llm", page="/version"))


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access, ADAPTER)
