"""Hugging Face's text-generation-inference (3.3): `/generate` natively, `/v1/chat/completions` in OpenAI's form.

It takes text only, gives one choice, ends at the end of a sequence whatever is asked, and refuses neutral values of
top_p, top_k and typical_p: they are left out then. Token ids, logprobs and, unless streamed, the prompt's own tokens
stand in `details`. Read in router/src/validation.rs and router/src/lib.rs; nothing was run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from specaudit.engines.adapter import Adapter, Sign
from specaudit.engines.form import Fields
from specaudit.engines.interface import Access
from specaudit.engines.openai_form import OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.engines.tgi_answer import read_generation
from specaudit.model.completion import Response
from specaudit.model.plan import Api, Arm
from specaudit.model.request import Request

if TYPE_CHECKING:
    from specaudit.engines.form import Form
    from specaudit.engines.http import Answered, HttpClient
    from specaudit.engines.manner import Manner

NEUTRAL: Mapping[str, Any] = {"temperature": 1.0, "top_k": None, "top_p": None, "repetition_penalty": 1.0}
"""None is left out: the neutral value itself is refused."""

_OFFERED = ("temperature", "top_k", "top_p", "repetition_penalty", "grammar")

_UNKNOWN_IN_CHAT = (
    "return_token_ids",
    "return_tokens_as_token_ids",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "ignore_eos",
    "logit_bias",
    "bad_words",
    "allowed_token_ids",
    "n",
    "stop_token_ids",
    "min_tokens",
    "prompt_logprobs",
    "chat_template_kwargs",
)
"""A presence penalty of x is taken for a repetition penalty of x + 2, so that 0, sent, would be one of 2
(`ChatRequest::try_into_generate`); n and logit_bias are there and unused."""


@dataclass(frozen=True, kw_only=True)
class GenerateForm:
    """The interface of `/generate`."""

    engine: str = "tgi"
    neutral: Mapping[str, Any] = field(default_factory=lambda: NEUTRAL)
    tells_law: bool = True

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse, the most valuable first."""
        return ("details", "seed", *NEUTRAL, "decoder_input_details", "top_n_tokens")

    def path(self, api: Api) -> str:
        """Where requests go, below the server's root; a stream is asked for under the same address."""
        return "/generate"

    def objection(self, request: Request, manner: Manner) -> str:
        """Say why the interface has no way to ask for a request; nothing where it has."""
        missing = [name for name in request.sampling.changed if name not in _OFFERED]
        missing += ["prompts of token ids"] if not isinstance(request.prompt, str) else []
        missing += ["second choice"] if request.n > 1 else []
        missing += ["stop_token_ids"] if request.stop_token_ids else []
        missing += ["min_tokens"] if request.min_tokens else []
        missing += ["streams of /generate here"] if manner.stream else []
        return f"TGI has no {', '.join(missing)}, which this request needs." if missing else ""

    def fields(self, request: Request, manner: Manner) -> Fields:
        """Return everything that is to be said, every sampling parameter with it."""
        sampling = request.sampling
        greedy = sampling.temperature == 0
        return {
            "inputs": request.prompt,
            "temperature": None if greedy else sampling.temperature,
            "do_sample": not greedy,
            "top_k": sampling.top_k or None,
            "top_p": sampling.top_p if sampling.top_p < 1 else None,
            "repetition_penalty": sampling.repetition_penalty,
            "frequency_penalty": 0.0,
            "max_new_tokens": request.max_tokens,
            "stop": request.stop,
            "seed": request.seed,
            "grammar": None if sampling.grammar is None else _regex(sampling.grammar),
            "watermark": False,
            "return_full_text": False,
            "details": True,
            "decoder_input_details": True,
            "top_n_tokens": request.logprobs or None,
        }

    def written(self, fields: Fields) -> Fields:
        """Return fields in their places: all but the text under `parameters`."""
        told = {name: value for name, value in fields.items() if name != "inputs" and value is not None}
        return {"inputs": fields["inputs"], "parameters": told}

    def read(self, answered: Answered, request: Request) -> Response:
        """Read an answer.

        Raises:
            ValueError: it is not of the form; the message says where.
        """
        return read_generation(answered.objects[0], request)

    async def prepared(self, client: HttpClient, request: Request) -> Request:
        """Return the request as it is."""
        return request


def _regex(pattern: str) -> Fields:
    return {"type": "regex", "value": pattern}


def _response_format(pattern: str) -> Fields:
    return {"response_format": _regex(pattern)}


def form(api: Api) -> Form:
    """Return the form of an interface."""
    if api == "completions":
        return GenerateForm()
    return OpenAIForm(engine="tgi", unknown=frozenset(_UNKNOWN_IN_CHAT), grammar=_response_format)


ADAPTER = Adapter(
    name="tgi",
    form=form,
    sign=Sign(page="/info", marks=frozenset({"model_id", "max_total_tokens", "router"})),
)


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access, ADAPTER)
