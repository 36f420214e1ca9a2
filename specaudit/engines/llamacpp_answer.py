"""Reading what llama.cpp's `/completion` answers: one object, a list of one for each choice, or the chunks of a stream.

`stop_type` tells why it ended: `limit`, `eos` or `word`. Where a position's `logprob` and list of likely tokens are not
told (a verification step reports 0.0 and an empty list), they are passed on as they are.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from specaudit.engines.llamacpp_steps import steps_in
from specaudit.engines.native_answer import converted, position, total
from specaudit.engines.openai_answer import TokenId
from specaudit.engines.openai_speculation import speculation_in
from specaudit.model.completion import Completion, Response, Timings
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
    choices: dict[int, list[_Piece]] = {}
    for piece in converted(list(answer), list[_Piece]):
        choices.setdefault(piece.index, []).append(piece)
    if any(parts[-1].stop_type is None for parts in choices.values()):
        raise ValueError("a completion has no stop_type: it did not come to its end")
    whole = [parts for _, parts in sorted(choices.items())]
    last = [parts[-1] for parts in whole]
    return Response(
        completions=tuple(_completion(parts, logprobs) for parts in whole),
        prompt_token_ids=prompt,
        prompt_tokens=last[0].tokens_evaluated if last else None,
        completion_tokens=total([piece.tokens_predicted for piece in last]),
        cached_tokens=_count(last[0].timings, "cache_n") if last else None,
        speculation=_speculation(whole[0]) if len(whole) == 1 else None,
    )


def _speculation(parts: Sequence[_Piece]) -> dict[str, Any] | None:
    """What the timings of an answer tell, with the steps that those of a stream add up to."""
    told = speculation_in({"timings": parts[-1].timings})
    steps = steps_in((len(part.tokens), part.timings) for part in parts) if len(parts) > 1 else None
    return told if told is None or steps is None else {"timings": told["timings"] | steps}


def _completion(parts: Sequence[_Piece], logprobs: bool) -> Completion:
    end = parts[-1]
    tokens: tuple[Token, ...] = tuple(token for part in parts for token in part.tokens)
    told = [
        position(one.id, one.logprob, [(other.id, other.logprob) for other in one.top_logprobs])
        for part in parts
        for one in part.completion_probabilities
    ]
    timings = end.timings or {}
    return Completion(
        tokens=tokens,
        text="".join(part.content for part in parts),
        finish_reason=_ENDS.get(end.stop_type or "", end.stop_type),
        logprobs=tuple(told) if logprobs else None,
        timings=Timings(prefill=_seconds(timings, "prompt_ms"), decode=_seconds(timings, "predicted_ms")),
    )


def _seconds(timings: dict[str, Any], name: str) -> float | None:
    value = timings.get(name)
    return value / 1000 if isinstance(value, int | float) else None


def _count(timings: dict[str, Any] | None, name: str) -> int | None:
    value = None if timings is None else timings.get(name)
    return value if type(value) is int and value >= 0 else None
