"""The interface of OpenAI's `/v1/completions` and `/v1/chat/completions`, with the fields that vLLM added to it.

Fields beyond OpenAI's own (`top_k`, `min_p`, `repetition_penalty`, `ignore_eos`, `return_token_ids`,
`return_tokens_as_token_ids`, `chat_template_kwargs`) are vLLM's; SGLang, llama.cpp and most gateways take or ignore
them. Those that a server answers with an error are not sent to it, and are part of its Capabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from specaudit.engines.form import Fields
from specaudit.engines.openai_answer import read_response
from specaudit.engines.openai_stream import assembled
from specaudit.model.completion import Response
from specaudit.model.plan import Api
from specaudit.model.request import Request, Token

if TYPE_CHECKING:
    from specaudit.engines.http import Answered, HttpClient
    from specaudit.engines.manner import Manner

OPTIONAL = (
    "temperature",
    "return_token_ids",
    "seed",
    "top_k",
    "top_p",
    "return_tokens_as_token_ids",
    "ignore_eos",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "stream_options",
    "chat_template_kwargs",
)
"""Fields that a server may refuse, the most valuable first."""

NEUTRAL: Mapping[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Sampling fields with the value that changes nothing; llama.cpp, TensorRT-LLM and others have another for top_k."""

TEMPLATE_DATE = "26 Jul 2024"
"""The day that chat templates are told it is: the one that Llama's print where nobody tells them.

Templates that print today's date would otherwise change the prompt while an audit runs, or between its arms. Llama's
and those made after it take `date_string`; vLLM, SGLang and llama.cpp hand `chat_template_kwargs` on to them.
"""

_PATHS: dict[Api, str] = {"completions": "completions", "chat": "chat/completions"}


def structured_outputs(pattern: str) -> Fields:
    """Ask for a text that follows a regular expression, as vLLM takes it."""
    return {"structured_outputs": {"regex": pattern}}


@dataclass(frozen=True, kw_only=True)
class OpenAIForm:
    """OpenAI's interface as one engine has it."""

    engine: str = "openai"
    neutral: Mapping[str, Any] = field(default_factory=lambda: NEUTRAL)
    unknown: frozenset[str] = frozenset()
    """Fields that the engine does not have, or takes for something else: they are not sent, and who needs them is
    told so. Servers ignore in silence what they do not know."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The engine's own names of fields."""
    further: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of this engine alone, with the values that change nothing."""
    grammar: Callable[[str], Fields] = structured_outputs
    """How it takes a regular expression, unless `grammar` is among the unknown."""
    tells_law: bool = True

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse, the most valuable first."""
        return (*(name for name in OPTIONAL if name not in self.unknown), *self.further)

    def path(self, api: Api) -> str:
        """Where requests go, below the endpoint."""
        return _PATHS[api]

    def objection(self, request: Request, manner: Manner) -> str:
        """Say why the interface has no way to ask for a request; nothing where it has."""
        if any(not isinstance(token, str) for word in request.sampling.bad_words for token in word):
            return "Bad words go to a server as text, and this request gives them as token ids."
        if manner.api == "chat" and not isinstance(request.prompt, str):
            return "A conversation is text, and this request's prompt is token ids."
        missing = [name for name in _needed(request) if name in self.unknown] if self.unknown else []
        return f"{self.engine} has no {', '.join(missing)}, which this request needs." if missing else ""

    def fields(self, request: Request, manner: Manner) -> Fields:
        """Return everything that is to be said.

        Every sampling parameter is, with its neutral value too, since servers' own defaults differ (llama.cpp:
        temperature .8, top_k 40, top_p .95, min_p .05).
        """
        fields = {
            "model": manner.model,
            **_prompt(request, manner.api),
            manner.cap: request.max_tokens,
            **({"n": request.n} if request.n > 1 else {}),
            "seed": request.seed,
            "stream": manner.stream,
            **self._sampling(request),
            "ignore_eos": request.ignore_eos,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            **_logprobs(request, manner),
            **self.further,
        }
        if manner.stream:
            fields["stream_options"] = {"include_usage": True}
        if request.stop_token_ids:
            fields["stop_token_ids"] = request.stop_token_ids
        if request.stop:
            fields["stop"] = request.stop
        if request.min_tokens:
            fields["min_tokens"] = request.min_tokens
        if manner.users is not None:
            fields["user"] = f"{manner.users}-{request.seed}"
        return fields

    def written(self, fields: Fields) -> Fields:
        """Return fields under the engine's own names, without those that it does not have."""
        return {self.names.get(name, name): value for name, value in fields.items() if name not in self.unknown}

    def read(self, answered: Answered, request: Request) -> Response:
        """Read an answer, which some gateways send whole even where a stream was asked for.

        Raises:
            ValueError: it is not of the form; the message says where.
        """
        if answered.listed:
            raise ValueError("it is a list of answers")
        answer = assembled(answered.objects) if answered.streamed else answered.objects[0]
        return read_response(answer, score_from=request.score_from)

    async def prepared(self, client: HttpClient, request: Request) -> Request:
        """Return the request as it is."""
        return request

    def _sampling(self, request: Request) -> Fields:
        sampling = request.sampling
        fields: Fields = {name: getattr(sampling, name) for name in self.neutral}
        fields["top_k"] = sampling.top_k or self.neutral["top_k"]
        if sampling.logit_bias:
            fields["logit_bias"] = {str(token): bias for token, bias in sampling.logit_bias}
        if sampling.bad_words:
            fields["bad_words"] = [_text(word) for word in sampling.bad_words]
        if sampling.allowed_token_ids is not None:
            fields["allowed_token_ids"] = sampling.allowed_token_ids
        if sampling.grammar is not None:
            fields |= self.grammar(sampling.grammar)
        return fields


def _needed(request: Request) -> Iterator[str]:
    """Fields without which another thing would be asked."""
    yield from request.sampling.changed
    yield from (name for name in ("stop", "stop_token_ids", "min_tokens") if getattr(request, name))
    if request.n > 1:
        yield "n"
    if request.score_from is not None:
        yield "prompt_logprobs"


def _prompt(request: Request, api: Api) -> Fields:
    if api == "completions":
        return {"prompt": request.prompt}
    return {
        "messages": [{"role": "user", "content": request.prompt}],
        "chat_template_kwargs": {"date_string": TEMPLATE_DATE},
    }


def _logprobs(request: Request, manner: Manner) -> Fields:
    """Logprobs in the words of the interface, of generated tokens and of the prompt's own."""
    wanted = request.logprobs
    if wanted is None and manner.tokens_need_logprobs:
        wanted = 1
    told: Fields = {}
    if wanted is not None:
        told = {"logprobs": wanted} if manner.api == "completions" else {"logprobs": True, "top_logprobs": wanted}
    if request.score_from is not None:
        told["prompt_logprobs"] = wanted or 1
    return told


def _text(word: tuple[Token, ...]) -> str:
    return "".join(map(str, word))
