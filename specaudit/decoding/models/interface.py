"""What a language model is to a decoder: logits for new tokens, and a memory that can be rolled back."""

from dataclasses import dataclass
from typing import Protocol

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray

BOS = -1
"""Stands before the first token of every sequence, so that an empty prompt has a context too."""


@dataclass(frozen=True, kw_only=True)
class Forward:
    """What one forward pass computes.

    Attributes:
        logits: of the token that follows each new token, `[b, T, V]`; rows beyond a sequence's count hold anything.
        features: hidden states at each new token, `[b, T, F]`: those of the layers that the model exposes to
            drafters, joined, the last layer's last; None where a model has none.
    """

    logits: FloatArray
    features: FloatArray | None = None


class Cache(Protocol):
    """What a model remembers of the tokens in each slot.

    A forward pass reads committed entries and the pending ones of its own tokens; it leaves its tokens pending.
    `commit` keeps some of them and rolls back the rest. Whatever is not committed before the slot's next forward
    pass is gone.
    """

    @property
    def lengths(self) -> IntArray:
        """Committed tokens of every slot `[slots]`, BOS included."""
        ...

    def reserve(self, slots: IntArray, tokens: IntArray) -> BoolArray:
        """Make room for that many more tokens in each slot, first come first served; False where none is left `[b]`."""
        ...

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep tokens of the slots' last forward pass and roll back the rest.

        Args:
            slots: `[b]`.
            kept: indices into the tokens of that pass, in order, padded with −1, `[b, n]`: a prefix for a chain, a path
                from the root for a tree.
        """
        ...

    def release(self, slots: IntArray) -> None:
        """Forget everything in those slots and give their room back `[b]`."""
        ...


class Model(Protocol):
    """A language model over `V` tokens."""

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        ...

    def cache(self, slots: int, *, tokens: int | None = None) -> Cache:
        """Return an empty memory.

        Args:
            slots: number of sequences held at once.
            tokens: room for that many tokens over all slots together; None for as many as are asked for.
        """
        ...

    def forward(
        self,
        tokens: IntArray,
        count: IntArray,
        cache: Cache,
        slots: IntArray,
        *,
        visible: BoolArray | None = None,
        depth: IntArray | None = None,
    ) -> Forward:
        """Read new tokens, all positions at once.

        Args:
            tokens: new tokens of each sequence `[b, T]`; BOS (−1) first in every sequence.
            count: number of them that are real `[b]`, 1 to T; the rest is padding.
            cache: what the model remembers of the slots.
            slots: slot of each sequence `[b]`, all different.
            visible: for a tree: whether new token i sees new token j `[T, T]`, itself included; by default
                those at and before its own place.
            depth: for a tree: position of each new token relative to the first `[T]`; by default 0…T−1.
        """
        ...
