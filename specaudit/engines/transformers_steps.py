"""What `generate` of transformers drafts and emits, step by step, seen at the target's own boundary.

The target runs once for each step, on the tokens that are new to it and the drafts behind them; `generate` then puts
what the step emitted into its streamer. Wherever drafts come from, an assistant or the prompt, they are seen.
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from specaudit.model.completion import Steps


class Trace:
    """A hook before the target's forward passes, and a streamer, of one call of `generate` without a batch.

    Args:
        prompt: Tokens of the prompt; the first pass runs on all of them.
    """

    def __init__(self, prompt: tuple[int, ...]) -> None:
        self._known = len(prompt)
        self._drafts: list[list[int]] = []
        self._put: list[list[int]] = []

    def forward(self, module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Take what a pass runs on: tokens `[1, known + drafts]`, where one is known after the first pass."""
        tokens = kwargs.get("input_ids")
        if tokens is not None:
            self._drafts.append(tokens.flatten().tolist()[self._known :])
        self._known = 1

    def put(self, tokens: Any) -> None:
        """Take the prompt, then what every step emitted."""
        self._put.append(tokens.flatten().tolist())

    def end(self) -> None:
        """Nothing is kept back."""

    @property
    def emitted(self) -> list[int]:
        """How many tokens each step emitted."""
        return [len(tokens) for tokens in self._put[1:]]

    def steps(self) -> Steps | None:
        """Return how each step went; None where the passes that were seen are not the steps, as in a compiled model.

        A draft was accepted where it was emitted: what takes the place of a rejected one is never the same token.
        """
        if len(self._drafts) != len(self._put) - 1:
            return None
        return Steps(
            drafted=tuple(map(len, self._drafts)),
            accepted=tuple(map(_common, self._drafts, self._put[1:])),
            emitted=tuple(self.emitted),
            ragged=0,
            mixed=0,
        )


def _common(drafts: list[int], emitted: list[int]) -> int:
    """Length of the common beginning."""
    return sum(1 for _ in takewhile(bool, map(int.__eq__, drafts, emitted)))
