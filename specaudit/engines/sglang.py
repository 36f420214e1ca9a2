"""SGLang's server (0.5): `/generate` natively, `/v1/chat/completions` in OpenAI's form.

Of `/generate` come token ids (`output_ids`, or beside logprobs), logprobs of prompt and completion before the filters,
and in `meta_info` what was drafted. Seeds (`sampling_seed`) hold only where the server was started with
`--enable-deterministic-inference`. Read in srt/managers/io_struct.py, srt/managers/tokenizer_manager.py and
srt/sampling/sampling_params.py; nothing was run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from specaudit.engines.adapter import Adapter, Sign
from specaudit.engines.form import Fields
from specaudit.engines.interface import Access
from specaudit.engines.openai_form import NEUTRAL, OpenAIForm
from specaudit.engines.server import ServerEngine
from specaudit.engines.server import build as build_server
from specaudit.engines.sglang_answer import read_generated
from specaudit.model.completion import Response
from specaudit.model.plan import Api, Arm
from specaudit.model.request import Request

if TYPE_CHECKING:
    from specaudit.engines.form import Form
    from specaudit.engines.http import Answered, HttpClient
    from specaudit.engines.manner import Manner

FURTHER: Mapping[str, Any] = {
    "skip_special_tokens": False,
    "spaces_between_special_tokens": True,
    "no_stop_trim": False,
}

_SAMPLING = (*NEUTRAL, "max_new_tokens", "min_new_tokens", "stop", "stop_token_ids", "logit_bias", "n", "ignore_eos")
_PARAMETERS = frozenset({*_SAMPLING, "sampling_seed", "regex", *FURTHER})
"""What stands under `sampling_params`."""


@dataclass(frozen=True, kw_only=True)
class GenerateForm:
    """The interface of `/generate`."""

    engine: str = "sglang"
    neutral: Mapping[str, Any] = field(default_factory=lambda: NEUTRAL)
    tells_law: bool = True

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse, the most valuable first."""
        return ("sampling_seed", *NEUTRAL, "ignore_eos", *FURTHER)

    def path(self, api: Api) -> str:
        """Where requests go, below the server's root."""
        return "/generate"

    def objection(self, request: Request, manner: Manner) -> str:
        """Say why the interface has no way to ask for a request; nothing where it has."""
        missing = [name for name in request.sampling.changed if name in ("bad_words", "allowed_token_ids")]
        return f"SGLang has no {', '.join(missing)}, which this request needs." if missing else ""

    def fields(self, request: Request, manner: Manner) -> Fields:
        """Return everything that is to be said, every sampling parameter with it."""
        sampling = request.sampling
        wanted = request.logprobs
        if wanted is None and (manner.tokens_need_logprobs or request.score_from is not None):
            wanted = 1
        fields: Fields = {
            **({"text": request.prompt} if isinstance(request.prompt, str) else {"input_ids": request.prompt}),
            "stream": manner.stream,
            "return_logprob": wanted is not None,
            "top_logprobs_num": wanted or 0,
            "logprob_start_len": -1 if request.score_from is None else 0,
            **{name: getattr(sampling, name) for name in NEUTRAL},
            "top_k": sampling.top_k or NEUTRAL["top_k"],
            "max_new_tokens": request.max_tokens,
            "min_new_tokens": request.min_tokens,
            "sampling_seed": request.seed,
            "n": request.n,
            "ignore_eos": request.ignore_eos,
            **FURTHER,
        }
        if sampling.logit_bias:
            fields["logit_bias"] = {str(token): bias for token, bias in sampling.logit_bias}
        if sampling.grammar is not None:
            fields |= _regex(sampling.grammar)
        if request.stop:
            fields["stop"] = request.stop
        if request.stop_token_ids:
            fields["stop_token_ids"] = request.stop_token_ids
        return fields

    def written(self, fields: Fields) -> Fields:
        """Return fields in their places: those of sampling in an object of their own."""
        aside = {name: value for name, value in fields.items() if name not in _PARAMETERS}
        return aside | {"sampling_params": {name: fields[name] for name in fields if name in _PARAMETERS}}

    def read(self, answered: Answered, request: Request) -> Response:
        """Read one answer, a list of several, or a stream.

        Raises:
            ValueError: it is not of the form; the message says where.
        """
        return read_generated(answered.objects, streamed=answered.streamed, request=request)

    async def prepared(self, client: HttpClient, request: Request) -> Request:
        """Return the request as it is."""
        return request


_UNKNOWN_IN_CHAT = (
    "return_token_ids",
    "return_tokens_as_token_ids",
    "bad_words",
    "allowed_token_ids",
    "prompt_logprobs",
)


def _regex(pattern: str) -> Fields:
    return {"regex": pattern}


def form(api: Api) -> Form:
    """Return the form of an interface."""
    if api == "completions":
        return GenerateForm()
    return OpenAIForm(engine="sglang", unknown=frozenset(_UNKNOWN_IN_CHAT), further=FURTHER, grammar=_regex)


ADAPTER = Adapter(name="sglang", form=form, sign=Sign(owner="sglang", page="/server_info"))


def build(arm: Arm, access: Access) -> ServerEngine:
    """Return the engine of an arm that has an endpoint; for errors see `specaudit.engines.server.build`."""
    return build_server(arm, access, ADAPTER)
