"""Reading what text-generation-inference's `/generate` answers."""

from typing import Any

import msgspec

from specaudit.engines.openai_answer import TokenId
from specaudit.model.completion import Completion, Response, TokenLogprobs
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
    try:
        read = msgspec.convert(answer, _Answer)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    details = read.details
    if details is None:
        return Response(completions=(Completion(tokens=None, text=read.generated_text),))
    tops = details.top_tokens or [[]] * len(details.tokens)
    if len(tops) != len(details.tokens):
        raise ValueError("the lists of its logprobs differ in length")
    positions = tuple(
        TokenLogprobs(token=token.id, logprob=token.logprob, top=_ordered(top))
        for token, top in zip(details.tokens, tops, strict=True)
    )
    completion = Completion(
        tokens=tuple(token.id for token in details.tokens),
        text=read.generated_text,
        finish_reason=_ENDS.get(details.finish_reason, details.finish_reason),
        logprobs=positions if request.logprobs is not None else None,
    )
    prompt = tuple(token.id for token in details.prefill)
    scores = tuple(TokenLogprobs(token=token.id, logprob=token.logprob) for token in details.prefill)
    return Response(
        completions=(completion,),
        prompt_token_ids=prompt or None,
        scores=scores[request.score_from :] if scores and request.score_from is not None else None,
        prompt_tokens=len(prompt) or None,
        completion_tokens=details.generated_tokens,
    )


def _ordered(top: list[_Token]) -> tuple[tuple[int, float], ...]:
    pairs = [(token.id, token.logprob) for token in top if token.logprob is not None]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))
