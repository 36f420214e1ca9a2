"""Reading what SGLang's `/generate` answers: one object, a list of one for each choice, or a stream.

Every event of a stream holds the whole answer so far, so that the last one of a choice is the answer; a server that
sends only what is new (`--incremental-streaming-output`) shows itself by a count that does not fit.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

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
    try:
        read = msgspec.convert(list(answer), list[_Answer])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    last = {one.index: (one, raw) for one, raw in zip(read, answer, strict=True)} if streamed else None
    whole = [one for one, _ in last.values()] if last is not None else read
    if any(one.meta_info.finish_reason is None for one in whole):
        raise ValueError("a completion has no finish_reason: it did not come to its end")
    for one in whole:
        told = one.meta_info.completion_tokens
        if streamed and one.output_ids is not None and told is not None and told != len(one.output_ids):
            raise ValueError("the stream sends what is new only, and its pieces do not add up to what is counted")
    raws = [raw for _, raw in last.values()] if last is not None else list(answer)
    counts = [one.meta_info.completion_tokens for one in whole if one.meta_info.completion_tokens is not None]
    first = whole[0].meta_info if whole else _Meta()
    prompt = request.prompt if isinstance(request.prompt, tuple) else None
    scores = _positions(first.input_token_logprobs, first.input_top_logprobs)
    return Response(
        completions=tuple(_completion(one, request) for one in whole),
        prompt_token_ids=prompt,
        scores=scores[request.score_from :] if scores is not None and request.score_from is not None else None,
        prompt_tokens=first.prompt_tokens,
        completion_tokens=sum(counts) if len(counts) == len(whole) else None,
        cached_tokens=first.cached_tokens,
        speculation=speculation_in(raws[0]) if len(raws) == 1 else None,
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
        logprobs=logprobs if request.logprobs is not None or tokens is None or one.output_ids is None else None,
    )


def _positions(
    scored: list[_Scored] | None, tops: list[list[_Scored] | None] | None
) -> tuple[TokenLogprobs, ...] | None:
    if scored is None:
        return None
    likely = tops or [None] * len(scored)
    if len(likely) != len(scored):
        raise ValueError("the lists of its logprobs differ in length")
    return tuple(
        TokenLogprobs(
            token=token,
            logprob=logprob,
            top=tuple(sorted(((one, value) for value, one, _ in top or () if value is not None), key=lambda e: -e[1])),
        )
        for (logprob, token, _), top in zip(scored, likely, strict=True)
    )
