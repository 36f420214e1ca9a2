"""How many tokens a step drafts: always as many, as many as a request is worth, or fewer the larger the batch."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specaudit.decoding.arrays import IntArray


class DraftLength(Protocol):
    """Chooses draft lengths."""

    def choose(self, current: IntArray, running: int, most: int) -> IntArray:
        """Choose the length for each row `[b]`, 0 to `most`.

        Args:
            current: what `learn` left for each row `[b]`, at first `most`.
            running: requests in the batch.
            most: drafts per step `K`.
        """
        ...

    def learn(self, current: IntArray, drafted: IntArray, accepted: IntArray, most: int) -> IntArray:
        """Return what to remember of each row `[b]` after a step that drafted and accepted so many `[b]`."""
        ...


class FixedLength:
    """Always `K` drafts."""

    def choose(self, current: IntArray, running: int, most: int) -> IntArray:
        """Choose `most`."""
        return np.full_like(current, most)

    def learn(self, current: IntArray, drafted: IntArray, accepted: IntArray, most: int) -> IntArray:
        """Learn nothing."""
        return current


class AdaptiveLength:
    """Two drafts more after a block that was accepted whole, one less after any other, at least one.

    Source: the schedule `heuristic` of transformers (`num_assistant_tokens_schedule`).
    """

    def choose(self, current: IntArray, running: int, most: int) -> IntArray:
        """Choose what the row's own past suggests."""
        return current

    def learn(self, current: IntArray, drafted: IntArray, accepted: IntArray, most: int) -> IntArray:
        """Move the length; steps without a draft do not tell."""
        moved = np.where(accepted == drafted, current + 2, current - 1).clip(min(1, most), most)
        return np.where(drafted > 0, moved, current)


@dataclass(frozen=True)
class BatchBuckets:
    """Fewer drafts the more requests run, since verification then costs as much as decoding.

    A request's draft lengths, and with them its tokens though not their law, depend on its neighbours.

    Attributes:
        lengths: (most requests, drafts per step), the requests ascending; beyond the last bucket nothing is drafted.
    """

    lengths: tuple[tuple[int, int], ...]

    def choose(self, current: IntArray, running: int, most: int) -> IntArray:
        """Choose the length of the first bucket that holds the batch."""
        length = next((length for requests, length in self.lengths if running <= requests), 0)
        return np.full_like(current, min(length, most))

    def learn(self, current: IntArray, drafted: IntArray, accepted: IntArray, most: int) -> IntArray:
        """Learn nothing."""
        return current
