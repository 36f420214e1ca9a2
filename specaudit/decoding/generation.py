"""What a decoder hands back for a batch of requests, and how it is written down step by step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.accounting import Step
from specaudit.decoding.arrays import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The completions of a batch, with what each step of each request did.

    Attributes:
        tokens: emitted tokens `[B, max_tokens]`, padded with −1; a stop token is the last one of its row.
        lengths: number of emitted tokens `[B]`.
        stopped: whether a stop token ended the request, rather than its cap, `[B]`.
        drafted_per_step: drafts of each step `[B, S]`, padded with −1 once the request has ended.
        accepted_per_step: accepted drafts that were emitted, in the same places.
        emitted_per_step: emitted tokens, in the same places; a step that a stop token cut short emits
            what it accepted and no more, any other step one token more.
    """

    tokens: IntArray
    lengths: IntArray
    stopped: BoolArray
    drafted_per_step: IntArray
    accepted_per_step: IntArray
    emitted_per_step: IntArray

    @property
    def finish(self) -> NDArray[np.str_]:
        """Finish reason of each request, `stop` or `length`, `[B]`."""
        return np.where(self.stopped, "stop", "length")

    @property
    def steps(self) -> IntArray:
        """Number of steps of each request `[B]`, undrafted ones included."""
        return np.asarray(np.count_nonzero(self.drafted_per_step >= 0, axis=1))

    @property
    def drafted(self) -> IntArray:
        """Number of drafts of each request `[B]`."""
        return np.asarray(self.drafted_per_step.clip(min=0).sum(axis=1))

    @property
    def accepted(self) -> IntArray:
        """Number of accepted and emitted drafts of each request `[B]`."""
        return np.asarray(self.accepted_per_step.clip(min=0).sum(axis=1))


class Transcript:
    """Collects the steps of a running batch into a `Generation`.

    Args:
        requests: number of requests `B`.
        max_tokens: largest cap among them.
        width: largest number of tokens that a step can emit.
    """

    def __init__(self, requests: int, max_tokens: int, width: int) -> None:
        self._max_tokens = max_tokens
        # The spare columns take the padding of a block that is written near the cap.
        self._tokens = np.full((requests, max_tokens + width), -1)
        self._steps: list[tuple[IntArray, Step]] = []
        self.lengths = np.zeros(requests, dtype=np.int64)
        self.stopped = np.zeros(requests, dtype=np.bool_)

    @property
    def empty(self) -> bool:
        """Whether no step was taken yet."""
        return not self._steps

    def append(self, rows: IntArray, out: IntArray, step: Step, stopped: BoolArray) -> None:
        """Write down one step.

        Args:
            rows: the requests that took part `[b]`.
            out: the block of each `[b, width]`, of which the first `step.emitted` tokens left the engine.
            step: what the step did.
            stopped: whether the request ended at a stop token `[b]`.
        """
        column = np.arange(out.shape[1])
        block = np.where(column < step.emitted[:, None], out, -1)
        self._tokens[rows[:, None], self.lengths[rows, None] + column] = block
        self.lengths[rows] += step.emitted
        self.stopped[rows] = stopped
        self._steps.append((rows, step))

    def generation(self) -> Generation:
        """Close the transcript."""
        # Written step by step, hence step-major; read request by request.
        per_step = np.full((3, len(self._steps), len(self.lengths)), -1)
        for i, (rows, step) in enumerate(self._steps):
            per_step[0, i, rows] = step.drafted
            per_step[1, i, rows] = step.accepted
            per_step[2, i, rows] = step.emitted
        drafted, accepted, emitted = per_step.transpose(0, 2, 1)
        return Generation(
            tokens=self._tokens[:, : self._max_tokens],
            lengths=self.lengths,
            stopped=self.stopped,
            drafted_per_step=drafted,
            accepted_per_step=accepted,
            emitted_per_step=emitted,
        )
