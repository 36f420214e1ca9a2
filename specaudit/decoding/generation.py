"""What a decoder hands back for a submission of requests."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.batch import Rows


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The completions of a submission, with what each step of each request did.

    Attributes:
        tokens: emitted tokens `[B, max_tokens]`, padded with −1; a stop token is the last one of its row.
        lengths: number of emitted tokens `[B]`.
        stopped: whether a stop ended the request, rather than its cap, `[B]`.
        drafted_per_step: drafts of each step `[B, S]`, padded with −1 once the request has ended.
        accepted_per_step: accepted drafts that were emitted, in the same places.
        emitted_per_step: emitted tokens, in the same places; a step that a stop token cut short emits
            what it accepted and no more, any other step one token more.
        ragged_per_step: whether rows of one batch had different numbers of drafts, in the same places; −1 behind them.
        mixed_per_step: whether rows of one batch had different rules, in the same places; −1 behind them.
    """

    tokens: IntArray
    lengths: IntArray
    stopped: BoolArray
    drafted_per_step: IntArray
    accepted_per_step: IntArray
    emitted_per_step: IntArray
    ragged_per_step: IntArray
    mixed_per_step: IntArray

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


class Submission:
    """Requests that came together; their completions, as they end.

    Args:
        requests: number of requests `B`.
        max_tokens: largest cap among them.
    """

    def __init__(self, requests: int, max_tokens: int) -> None:
        self._tokens = np.full((requests, max_tokens), -1)
        self._lengths = np.zeros(requests, dtype=np.int64)
        self._stopped = np.zeros(requests, dtype=np.bool_)
        # Written request by request, read figure by figure.
        self._log = np.full((requests, 0, 5), -1)
        self._broken = np.zeros(requests, dtype=np.bool_)
        self.running = requests

    @property
    def finished(self) -> bool:
        """Whether all requests have ended."""
        return self.running == 0

    def take(self, rows: Rows) -> None:
        """Write down requests that have ended."""
        place, width = rows.place, min(self._tokens.shape[1], rows.tokens.shape[1])
        column = np.arange(width) + rows.prompt_lengths[:, None]
        inside = column < rows.lengths[:, None]
        output = np.take_along_axis(rows.tokens, np.where(inside, column, 0), axis=1)
        self._tokens[place, :width] = np.where(inside, output, -1)
        self._lengths[place] = rows.output_lengths
        self._stopped[place] = rows.stopped
        self._broken[place] = rows.broken
        steps = int(rows.steps.max())
        if (missing := steps - self._log.shape[1]) > 0:
            self._log = np.pad(self._log, ((0, 0), (0, missing), (0, 0)), constant_values=-1)
        self._log[place, :steps] = rows.log[:, :steps]
        self.running -= len(rows)

    def generation(self) -> Generation:
        """Close the submission.

        Raises:
            ValueError: a completion broke off, since its rules left no token to go on with.
        """
        if self._broken.any():
            row = int(self._broken.argmax())
            raise ValueError(
                f"request {row}: behind {self._lengths[row]} tokens its sampling parameters and stop rules leave none"
            )
        drafted, accepted, emitted, ragged, mixed = np.moveaxis(self._log, 2, 0)
        return Generation(
            tokens=self._tokens,
            lengths=self._lengths,
            stopped=self._stopped,
            drafted_per_step=drafted,
            accepted_per_step=accepted,
            emitted_per_step=emitted,
            ragged_per_step=ragged,
            mixed_per_step=mixed,
        )
