"""Reading what llama.cpp's `/completion` answers: one object, a list of one for each choice, or the chunks of a stream.

`stop_type` tells why it ended: `limit`, `eos` or `word`. Where a position's `logprob` and list of likely tokens are not
told (a verification step reports 0.0 and an empty list), they are passed on as they are.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from specaudit.engines.openai_answer import TokenId
from specaudit.engines.openai_speculation import speculation_in
from specaudit.model.completion import Completion, Response, Timings, TokenLogprobs
from specaudit.model.request import Token

_ENDS = {"limit": "length", "eos": "stop", "word": "stop"}


class _Likely(msgspec.Struct):
    id: TokenId
    logprob: float | None = None


class _Position(_Likely):
    top_logprobs: list[_Likely] = []


class _Piece(msgspec.Struct):
    """A whole answer, or a chunk of a stream."""

    index: int = 0
    content: str = ""
    tokens: list[TokenId] = []
    stop_type: str | None = None
    tokens_predicted: int | None = None
    tokens_evaluated: int | None = None
    timings: dict[str, Any] | None = None
    completion_probabilities: list[_Position] = []


def read_completions(answer: Sequence[dict[str, Any]], *, prompt: tuple[int, ...] | None, logprobs: bool) -> Response:
    """Return the choices of an answer in order of their index.

    Args:
        answer: the JSON objects: one for each choice, or several where the answer was streamed.
        prompt: the prompt's token ids, where they were given as such.
        logprobs: they were asked for.

    Raises:
        ValueError: it is not of the form, or a choice did not come to its end; the message says where.
    """
    try:
        pieces = msgspec.convert(list(answer), list[_Piece])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    choices: dict[int, list[_Piece]] = {}
    for piece in pieces:
        choices.setdefault(piece.index, []).append(piece)
    if any(parts[-1].stop_type is None for parts in choices.values()):
        raise ValueError("a completion has no stop_type: it did not come to its end")
    last = [parts[-1] for _, parts in sorted(choices.items())]
    predicted = [piece.tokens_predicted for piece in last if piece.tokens_predicted is not None]
    return Response(
        completions=tuple(_completion(parts, logprobs) for _, parts in sorted(choices.items())),
        prompt_token_ids=prompt,
        prompt_tokens=last[0].tokens_evaluated if last else None,
        completion_tokens=sum(predicted) if len(predicted) == len(last) else None,
        cached_tokens=_count(last[0].timings, "cache_n") if last else None,
        speculation=speculation_in({"timings": last[0].timings}) if len(last) == 1 else None,
    )


def _completion(parts: Sequence[_Piece], logprobs: bool) -> Completion:
    end = parts[-1]
    tokens: tuple[Token, ...] = tuple(token for part in parts for token in part.tokens)
    positions = [position for part in parts for position in part.completion_probabilities]
    timings = end.timings or {}
    return Completion(
        tokens=tokens,
        text="".join(part.content for part in parts),
        finish_reason=_ENDS.get(end.stop_type or "", end.stop_type),
        logprobs=tuple(map(_position, positions)) if logprobs else None,
        timings=Timings(prefill=_seconds(timings, "prompt_ms"), decode=_seconds(timings, "predicted_ms")),
    )


def _position(position: _Position) -> TokenLogprobs:
    likely = [(entry.id, entry.logprob) for entry in position.top_logprobs if entry.logprob is not None]
    return TokenLogprobs(token=position.id, logprob=position.logprob, top=tuple(sorted(likely, key=lambda e: -e[1])))


def _seconds(timings: dict[str, Any], name: str) -> float | None:
    value = timings.get(name)
    return value / 1000 if isinstance(value, int | float) else None


def _count(timings: dict[str, Any] | None, name: str) -> int | None:
    value = None if timings is None else timings.get(name)
    return value if type(value) is int and value >= 0 else None
