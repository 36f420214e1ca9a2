"""A cache of answers, as gateways put one before a model: what looks like an earlier request is not generated again."""

import copy
from collections.abc import Mapping
from typing import Any, Literal

from specaudit.model.record import digest


class AnswerCache:
    """Answers by what was asked.

    Args:
        key: `body` tells requests apart by their whole body but for the seed, `prompt` by the prompt alone.
    """

    def __init__(self, key: Literal["body", "prompt"]) -> None:
        self._key = key
        self._answers: dict[str, dict[str, Any]] = {}

    def find(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer that the same request got before, its prompt counted as cached."""
        return copy.deepcopy(self._answers.get(self._name(body)))

    def keep(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Remember an answer."""
        kept = copy.deepcopy(dict(answer))
        kept["usage"]["prompt_tokens_details"] = {"cached_tokens": kept["usage"]["prompt_tokens"]}
        self._answers[self._name(body)] = kept

    def _name(self, body: Mapping[str, Any]) -> str:
        if self._key == "body":
            return digest({name: value for name, value in sorted(body.items()) if name not in _ASIDE})
        kept = {name: body.get(name) for name in ("prompt", "messages", "n", "max_tokens", "max_completion_tokens")}
        return digest(kept)


_ASIDE = ("seed", "stream", "stream_options")
"""Fields that do not tell requests apart: gateways cache what a model says, however it is sent."""
