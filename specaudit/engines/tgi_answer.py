"""Reading what text-generation-inference's `/generate` answers."""

from typing import Any

import msgspec

from specaudit.engines.native_answer import Likely, converted, positions
from specaudit.engines.openai_answer import TokenId
from specaudit.model.completion import Completion, Response
from specaudit.model.request import Request

_ENDS = {"length": "length", "eos_token": "stop", "stop_sequence": "stop"}


class _Token(msgspec.Struct):
    id: TokenId
    logprob: float | None = None


class _Details(msgspec.Struct):
    finish_reason: str
    tokens: list[_Token]
    generated_tokens: int | None = None
    prefill: list[_Token] = []
    top_tokens: list[list[_Token]] | None = None


class _Answer(msgspec.Struct):
    generated_text: str
    details: _Details | None = None


def read_generation(answer: dict[str, Any], request: Request) -> Response:
    """Return the one choice of an answer, and how the prompt was tokenized.

    Raises:
        ValueError: it is not of the form; the message says where.
    """
    read = converted(answer, _Answer)
    details = read.details
    if details is None:
        return Response(completions=(Completion(tokens=None, text=read.generated_text),))
    told = positions(_pairs(details.tokens), [_pairs(top) for top in details.top_tokens or ()])
    completion = Completion(
        tokens=tuple(token.id for token in details.tokens),
        text=read.generated_text,
        finish_reason=_ENDS.get(details.finish_reason, details.finish_reason),
        logprobs=told if request.logprobs is not None else None,
    )
    prompt = tuple(token.id for token in details.prefill)
    scores = positions(_pairs(details.prefill), None)
    return Response(
        completions=(completion,),
        prompt_token_ids=prompt or None,
        scores=scores[request.score_from :] if scores and request.score_from is not None else None,
        prompt_tokens=len(prompt) or None,
        completion_tokens=details.generated_tokens,
    )


def _pairs(tokens: list[_Token]) -> list[Likely]:
    return [(token.id, token.logprob) for token in tokens]
