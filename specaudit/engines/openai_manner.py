"""How a server has to be asked: which interface, which fields, and in which words."""

from dataclasses import dataclass
from typing import Any, Literal

from specaudit.model.plan import Api
from specaudit.model.request import Request, Token

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

NEUTRAL: dict[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Sampling fields with the value that changes nothing. With it they can be left out; any other value needs them."""

TEMPLATE_DATE = "26 Jul 2024"
"""The day that chat templates are told it is: the one that Llama's print where nobody tells them.

Templates that print today's date would otherwise change the prompt while an audit runs, or between its arms. Llama's
and those made after it take `date_string`; vLLM, SGLang and llama.cpp hand `chat_template_kwargs` on to them.
"""

_PATHS: dict[Api, str] = {"completions": "completions", "chat": "chat/completions"}


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a server has to be asked."""

    model: str | None
    api: Api = "completions"
    stream: bool = False
    refused: tuple[str, ...] = ()
    """Optional fields that it answers with an error, and that are therefore not sent."""
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name under which it takes the number of tokens."""
    tokens_need_logprobs: bool = False
    """It reveals tokens in logprobs only, so that these are always asked for."""
    only_neutral_temperature: bool = False
    """It takes no temperature but 1."""
    retokenizes: bool = False
    """It tells text only, which the user's tokenizer divides into tokens."""
    users: str | None = None
    """How the names of users begin, of whom every request names one of its own to get past a cache."""

    @property
    def path(self) -> str:
        """Where requests go, below the endpoint."""
        return _PATHS[self.api]

    def cannot_ask(self, request: Request, where: str) -> str:
        """Say why a request cannot be sent to a server; nothing where it can be.

        What is refused is never left out in silence where it matters: another law would be asked for.
        """
        if any(not isinstance(token, str) for word in request.sampling.bad_words for token in word):
            return "Bad words go to a server as text, and this request gives them as token ids."
        if self.api == "chat" and not isinstance(request.prompt, str):
            return "A conversation is text, and this request's prompt is token ids."
        if request.draft_tokens is not None:
            return "The number of drafts is the server's own, and this request sets it."
        body = self._whole(request)
        needed = [name for name in self.refused if name in NEUTRAL and body[name] != NEUTRAL[name]]
        if self.only_neutral_temperature and request.sampling.temperature != 1.0:
            needed.append("every temperature but 1")
        return f"{where} refuses {', '.join(needed)}, which this request needs." if needed else ""

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request.

        Every sampling parameter is sent, with its neutral value too, since servers' own defaults differ (llama.cpp:
        temperature .8, top_k 40, top_p .95, min_p .05).
        """
        return {name: value for name, value in self._whole(request).items() if name not in self.refused}

    def _whole(self, request: Request) -> dict[str, Any]:
        """The body with the fields that the server refuses."""
        body = {
            "model": self.model,
            **self._prompt(request),
            self.cap: request.max_tokens,
            **({"n": request.n} if request.n > 1 else {}),
            "seed": request.seed,
            "stream": self.stream,
            **_sampling(request),
            "ignore_eos": request.ignore_eos,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            **self._logprobs(request),
        }
        if self.stream:
            body["stream_options"] = {"include_usage": True}
        if request.stop_token_ids:
            body["stop_token_ids"] = request.stop_token_ids
        if request.stop:
            body["stop"] = request.stop
        if request.min_tokens:
            body["min_tokens"] = request.min_tokens
        if self.users is not None:
            body["user"] = f"{self.users}-{request.seed}"
        return body

    def _prompt(self, request: Request) -> dict[str, Any]:
        if self.api == "completions":
            return {"prompt": request.prompt}
        return {
            "messages": [{"role": "user", "content": request.prompt}],
            "chat_template_kwargs": {"date_string": TEMPLATE_DATE},
        }

    def _logprobs(self, request: Request) -> dict[str, Any]:
        """Logprobs in the words of the interface, of generated tokens and of the prompt's own."""
        wanted = request.logprobs
        if wanted is None and self.tokens_need_logprobs:
            wanted = 1
        told: dict[str, Any] = {}
        if wanted is not None:
            told = {"logprobs": wanted} if self.api == "completions" else {"logprobs": True, "top_logprobs": wanted}
        if request.score_from is not None:
            told["prompt_logprobs"] = wanted or 1
        return told


def _sampling(request: Request) -> dict[str, Any]:
    sampling = request.sampling
    body: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k or -1,
        "min_p": sampling.min_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repetition_penalty": sampling.repetition_penalty,
    }
    if sampling.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in sampling.logit_bias}
    if sampling.bad_words:
        body["bad_words"] = [_text(word) for word in sampling.bad_words]
    if sampling.allowed_token_ids is not None:
        body["allowed_token_ids"] = sampling.allowed_token_ids
    return body


def _text(word: tuple[Token, ...]) -> str:
    return "".join(map(str, word))
