"""A whole answer cut into the chunks of a server-sent event stream.

A chunk carries what one step of a speculating server would have accepted: one token, or several.
"""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from specaudit.model.record import to_json

DONE = b"data: [DONE]\n\n"

_STEPS = (1, 3, 2)
"""Tokens of one chunk after the other."""


def events(answer: dict[str, Any], *, include_usage: bool) -> Iterator[bytes]:
    """Yield an answer as server-sent events, the choices taking turns."""
    chunks = [_deltas(choice) for choice in answer["choices"]]
    first = True
    while chunks:
        for deltas in list(chunks):
            delta = next(deltas, None)
            if delta is None:
                chunks.remove(deltas)
                continue
            told = {"prompt_token_ids": answer["prompt_token_ids"]} if first and "prompt_token_ids" in answer else {}
            yield _event(answer, [delta], **told)
            first = False
    if include_usage:
        metrics = {"metrics": answer["metrics"]} if "metrics" in answer else {}
        yield _event(answer, [], usage=answer["usage"], **metrics)
    yield DONE


def _event(answer: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> bytes:
    kind = "chat.completion.chunk" if answer["object"] == "chat.completion" else answer["object"]
    head = {name: answer[name] for name in ("id", "created", "model")}
    return b"data: " + to_json({**head, "object": kind, "choices": choices, **more}) + b"\n\n"


def _deltas(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one choice in pieces; the last has its finish reason."""
    message = choice.get("message")
    letters = _letters(choice)
    head = {"index": choice["index"], "logprobs": None, "finish_reason": None}
    if message is not None:
        yield head | {"delta": {"role": message["role"], "content": ""}}
    start = 0
    for length in cycle(_STEPS):
        if start >= len(letters):
            break
        piece = slice(start, start + length)
        said: dict[str, str] = {}
        for field, letter in letters[piece]:
            said[field] = said.get(field, "") + letter
        yield {**head, **(said if message is None else {"delta": said}), **_tokens(choice, piece)}
        start += length
    last: dict[str, Any] = {"text": ""} if message is None else {"delta": {}}
    yield {**head, **last, **_tokens(choice, slice(start, None)), "finish_reason": choice["finish_reason"]}


def _letters(choice: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (field, letter) for each token; the token that ends the reasoning has no letter."""
    if "text" in choice:
        return [("text", letter) for letter in choice["text"]]
    message = choice["message"]
    content = [("content", letter) for letter in message["content"] or ""]
    if "reasoning_content" not in message:
        return content
    reasoning = [("reasoning_content", letter) for letter in message["reasoning_content"]]
    return [*reasoning, *([] if message["content"] is None else [("reasoning_content", "")]), *content]


def _tokens(choice: dict[str, Any], piece: slice) -> dict[str, Any]:
    """What is told of the tokens of a piece, and with the first of the prompt's."""
    told: dict[str, Any] = {}
    if choice["logprobs"] is not None:
        told["logprobs"] = {name: positions[piece] for name, positions in choice["logprobs"].items()}
    if "token_ids" in choice:
        told["token_ids"] = choice["token_ids"][piece]
    if piece.start == 0 and "prompt_token_ids" in choice:
        told["prompt_token_ids"] = choice["prompt_token_ids"]
    return told
