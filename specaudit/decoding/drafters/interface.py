"""What a drafter is: it proposes tokens and tells the laws that it drew them from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from specaudit.decoding.arrays import FloatArray, IntArray

Law = Callable[[FloatArray, IntArray], FloatArray]
"""Turns the drafter's logits `[b, V]`, behind the drafts so far `[b, i]`, into the law `[b, V]` to draw from.

It knows each row's sampling parameters and history, so that drafter and target are processed alike.
"""


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """What a drafter may look at: the running sequences, one per row.

    Attributes:
        slots: slot of each sequence `[b]`; a drafter's own memory is kept by slot.
        tokens: prompt and emitted tokens `[b, H]`, padded with −1 on the right.
        lengths: number of them `[b]`; the last one has not been read by the target yet.
        features: the target's hidden states where it drew the last token, `[b, F]`; None where it has none.
    """

    slots: IntArray
    tokens: IntArray
    lengths: IntArray
    features: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Drafts:
    """Proposed continuations.

    Attributes:
        tokens: `[b, K]`; beyond `count` anything.
        q: the law that each was drawn from `[b, K, V]`; one-hot where nothing was drawn.
        count: number of drafts of each row `[b]`, at most what was asked for.
    """

    tokens: IntArray
    q: FloatArray
    count: IntArray


class Drafter(Protocol):
    """Proposes tokens for a batch of sequences."""

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Propose up to `num_draft` tokens for each sequence.

        A row's drafts depend on its own sequence, uniforms and law alone, never on its neighbours.

        Args:
            sequences: what has been said so far.
            num_draft: largest number of drafts of each row `[b]`, 0 to K.
            uniforms: the only source of chance `[b, K]`, in [0, 1).
            law: makes a law of logits.
        """
        ...

    def release(self, slots: IntArray) -> None:
        """Forget the sequences in those slots `[b]`: they have ended, or were preempted."""
        ...
