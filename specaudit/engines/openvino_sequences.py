"""Sequences of OpenVINO GenAI: what has come of one, at once or step by step."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specaudit.model.completion import TokenLogprobs

FINISH = {"LENGTH": "length", "STOP": "stop"}
"""Finish reasons by their names in the package."""


@dataclass(kw_only=True)
class Generated:
    """What one sequence has come to."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    """Of the tokens, as the pipeline reports them; empty where it reports none."""
    steps: list[int] = field(default_factory=list)
    """Tokens that each step emitted."""
    reason: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """What the pipeline counts of its drafts; empty where it tells nothing."""

    def reported(self) -> tuple[TokenLogprobs, ...] | None:
        """Return what the pipeline says of its tokens itself, and of no other."""
        if not self.logprobs:
            return None
        return tuple(
            TokenLogprobs(token=token, logprob=logprob, top=())
            for token, logprob in zip(self.tokens, self.logprobs, strict=True)
        )


class Running(Generated):
    """A sequence in a batch, read after every step."""

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self._handle = handle

    @property
    def finished(self) -> bool:
        """Nothing more will come."""
        return bool(self._handle.get_status().name != "RUNNING") and not self._handle.can_read()

    def read(self) -> None:
        """Take what the last step has emitted."""
        while self._handle.can_read():
            for output in self._handle.read().values():
                self.tokens += [int(token) for token in output.generated_ids]
                self.logprobs += [float(value) for value in output.generated_log_probs]
                self.steps.append(len(output.generated_ids))
                self.reason = output.finish_reason.name


def as_tensor(tokens: tuple[int, ...]) -> Any:
    """Return tokens as a batch of one prompt."""
    import openvino

    return openvino.Tensor(np.array([tokens], dtype=np.int64))
