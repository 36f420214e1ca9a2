"""One call of `/v1/completions`: how a server has to be asked, and what it answers."""

from dataclasses import dataclass
from typing import Any

from specaudit.engines.http import HttpClient
from specaudit.engines.interface import EngineFailure
from specaudit.engines.openai_answer import read_response
from specaudit.model.completion import Response
from specaudit.model.entries import Failure
from specaudit.model.request import Request

OPTIONAL = (
    "return_token_ids",
    "return_tokens_as_token_ids",
    "top_k",
    "min_p",
    "repetition_penalty",
    "ignore_eos",
)
"""Fields beyond OpenAI's own, the most valuable first."""


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a server has to be asked."""

    model: str | None
    refused: tuple[str, ...] = ()
    """Optional fields that it answers with an error, and that are therefore not sent."""
    tokens_need_logprobs: bool = False
    """It reveals tokens in logprobs only, so that these are always asked for."""

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request.

        Every sampling parameter is sent with its neutral value, since servers' own defaults differ (llama.cpp:
        temperature .8, top_k 40, top_p .95, min_p .05).
        """
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": request.prompt,
            "max_tokens": request.max_tokens,
            "n": request.n,
            "seed": request.seed,
            "stream": False,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or -1,
            "min_p": 0.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "repetition_penalty": 1.0,
            "ignore_eos": request.ignore_eos,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }
        if request.stop_token_ids:
            body["stop_token_ids"] = request.stop_token_ids
        if request.logprobs is not None:
            body["logprobs"] = request.logprobs
        elif self.tokens_need_logprobs:
            body["logprobs"] = 1
        return {name: value for name, value in body.items() if name not in self.refused}


async def call(client: HttpClient, manner: Manner, request: Request) -> Response:
    """Ask a server for completions.

    Raises:
        EngineFailure: there is no usable answer, or the request needs a field that the server refuses.
    """
    if request.sampling.top_k and "top_k" in manner.refused:
        message = f"{client.where} refuses top_k, which this request needs."
        raise EngineFailure(Failure(reason="status", message=message, status=400, lost=False))
    answer = await client.post_json("completions", manner.body(request))
    try:
        return read_response(answer)
    except ValueError as error:
        message = f"{client.where} answered with completions that cannot be read: {error}."
        raise EngineFailure(Failure(reason="protocol", message=message, lost=True)) from error
