"""A stream's chunks put together to the answer that would have come whole.

A chunk is not a token: a speculating server sends what a step accepted, and a gateway what it likes. Tokens are told
by token ids and logprobs only; where some chunk with text lacks them (llama.cpp, in the chunks of a verification
step), the choice's tokens are not known, and none are made up from its chunks.
"""

from collections.abc import Sequence
from typing import Any


def assembled(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer that chunks make up, in the form of one that is not streamed.

    Raises:
        ValueError: the chunks are not of the form, or a choice has no finish reason: the stream broke off.
    """
    choices: dict[int, _Choice] = {}
    answer: dict[str, Any] = {}
    for chunk in chunks:
        answer |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        for delta in _objects(chunk.get("choices") or (), "choices"):
            choices.setdefault(_index(delta), _Choice()).add(delta)
    if not choices:
        raise ValueError("the stream has no choices")
    if any(choice.finish_reason is None for choice in choices.values()):
        raise ValueError("the stream ended before its finish reason")
    return answer | {"choices": [{"index": index, **choice.whole()} for index, choice in sorted(choices.items())]}


class _Choice:
    """One choice, as far as its chunks have come."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._texts: dict[str, list[str]] = {}
        self._ids: list[Any] | None = None
        self._logprobs: dict[str, list[Any]] | None = None
        self._untold = {"ids": False, "logprobs": False}
        self._prompt: Any = None
        self._in_chat = False

    def add(self, chunk: dict[str, Any]) -> None:
        """Add what a chunk brings."""
        message = chunk.get("delta")
        self._in_chat = self._in_chat or isinstance(message, dict)
        said = message if isinstance(message, dict) else chunk
        texts = {name: said.get(name) for name in ("text", "content", "reasoning_content", "reasoning")}
        for name, text in texts.items():
            if isinstance(text, str):
                self._texts.setdefault(name, []).append(text)
        self._add_tokens(chunk, any(texts.values()))
        self.finish_reason = chunk.get("finish_reason") or self.finish_reason
        prompt = chunk.get("prompt_token_ids")
        self._prompt = self._prompt if prompt is None else prompt

    def _add_tokens(self, chunk: dict[str, Any], has_text: bool) -> None:
        ids, logprobs = chunk.get("token_ids"), chunk.get("logprobs")
        if isinstance(ids, list):
            self._ids = [*(self._ids or ()), *ids]
        told: dict[str, list[Any]] = {}
        if isinstance(logprobs, dict):
            told = {name: positions for name, positions in logprobs.items() if isinstance(positions, list)}
            self._logprobs = self._logprobs or {}
            for name, positions in told.items():
                self._logprobs.setdefault(name, []).extend(positions)
        if has_text:
            self._untold["ids"] |= not ids
            self._untold["logprobs"] |= not any(told.values())

    def whole(self) -> dict[str, Any]:
        """Return the choice as it would stand in an answer that is not streamed."""
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        return {
            **({"message": texts} if self._in_chat else texts),
            "finish_reason": self.finish_reason,
            "token_ids": None if self._untold["ids"] else self._ids,
            "prompt_token_ids": self._prompt,
            "logprobs": None if self._untold["logprobs"] else self._logprobs,
        }


def _objects(items: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(items, list | tuple) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"the {name} of a chunk are no objects")
    return list(items)


def _index(delta: dict[str, Any]) -> int:
    index = delta.get("index", 0)
    if type(index) is not int:
        raise ValueError("a choice's index is no number")
    return index
