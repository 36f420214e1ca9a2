"""Reading what SGLang's `/generate` answers: one object, a list of one for each choice, or a stream.

Every event of a stream holds the whole answer so far, so that the last one of a choice is the answer; a server that
sends only what is new (`--incremental-streaming-output`) shows itself by a count that does not fit.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from specaudit.engines.native_answer import Likely, converted, positions, total
from specaudit.engines.openai_answer import TokenId
from specaudit.engines.openai_speculation import speculation_in
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.request import Request, Token

_Scored = tuple[float | None, TokenId, str | None]
"""(logprob, id, text)."""


class _Ending(msgspec.Struct):
    type: str


class _Meta(msgspec.Struct):
    finish_reason: _Ending | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    output_token_logprobs: list[_Scored] | None = None
    output_top_logprobs: list[list[_Scored] | None] | None = None
    input_token_logprobs: list[_Scored] | None = None
    input_top_logprobs: list[list[_Scored] | None] | None = None


class _Answer(msgspec.Struct):
    meta_info: _Meta
    text: str = ""
    output_ids: list[TokenId] | None = None
    index: int = 0


def read_generated(answer: Sequence[dict[str, Any]], *, streamed: bool, request: Request) -> Response:
    """Return the choices of an answer.

    Args:
        answer: the JSON objects.
        streamed: they are events of a stream.
        request: what was asked.

    Raises:
        ValueError: it is not of the form, or a choice did not come to its end; the message says where.
    """
    read = list(zip(converted(list(answer), list[_Answer]), answer, strict=True))
    if streamed:
        read = list({one.index: (one, raw) for one, raw in read}.values())
    whole = [one for one, _ in read]
    if any(one.meta_info.finish_reason is None for one in whole):
        raise ValueError("a completion has no finish_reason: it did not come to its end")
    for one in whole if streamed else ():
        counted = one.meta_info.completion_tokens
        if one.output_ids is not None and counted is not None and counted != len(one.output_ids):
            raise ValueError("the stream sends what is new only, and its pieces do not add up to what is counted")
    first = whole[0].meta_info if whole else _Meta()
    scores = _positions(first.input_token_logprobs, first.input_top_logprobs)
    return Response(
        completions=tuple(_completion(one, request) for one in whole),
        prompt_token_ids=request.prompt if isinstance(request.prompt, tuple) else None,
        scores=scores[request.score_from :] if scores is not None and request.score_from is not None else None,
        prompt_tokens=first.prompt_tokens,
        completion_tokens=total([one.meta_info.completion_tokens for one in whole]),
        cached_tokens=first.cached_tokens,
        speculation=speculation_in(read[0][1]) if len(read) == 1 else None,
    )


def _completion(one: _Answer, request: Request) -> Completion:
    meta = one.meta_info
    logprobs = _positions(meta.output_token_logprobs, meta.output_top_logprobs)
    tokens: tuple[Token, ...] | None = None
    if one.output_ids is not None:
        tokens = tuple(one.output_ids)
    elif logprobs is not None:
        tokens = tuple(position.token for position in logprobs)
    return Completion(
        tokens=tokens,
        text=one.text,
        finish_reason=meta.finish_reason.type if meta.finish_reason is not None else None,
        logprobs=logprobs if request.logprobs is not None or one.output_ids is None else None,
    )


def _positions(
    scored: list[_Scored] | None, tops: list[list[_Scored] | None] | None
) -> tuple[TokenLogprobs, ...] | None:
    if scored is None:
        return None
    return positions(_pairs(scored), None if tops is None else [_pairs(top or ()) for top in tops])


def _pairs(scored: Sequence[_Scored]) -> list[Likely]:
    return [(token, logprob) for logprob, token, _ in scored]
