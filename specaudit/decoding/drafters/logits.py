"""Drafting from logits: one position after the other, each draft drawn from the law that is declared for it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Drafts, Law, Sequences
from specaudit.decoding.processors import one_hot_argmax
from specaudit.decoding.sampling import inverse_cdf


class LogitDrafter(ABC):
    """A drafter that has logits at every position it drafts; a subclass says where they come from.

    Args:
        vocabulary_size: number of tokens `V`.
        greedy: propose the most likely token instead of a drawn one. Its law is then one-hot: a soft law
            would claim that another token could have been proposed.
    """

    def __init__(self, vocabulary_size: int, *, greedy: bool = False) -> None:
        self.vocabulary_size = vocabulary_size
        self.greedy = greedy

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Propose `num_draft` tokens for each sequence; see `Drafter`."""
        batch, width = uniforms.shape
        tokens = np.zeros((batch, width), dtype=np.int64)
        q = np.zeros((batch, width, self.vocabulary_size))
        for i, logits in enumerate(self.logits(sequences, num_draft, tokens)):
            tokens[:, i], q[:, i] = self.draw(logits, tokens[:, :i], uniforms[:, i], law)
        return Drafts(tokens=tokens, q=q, count=num_draft)

    @abstractmethod
    def logits(self, sequences: Sequences, num_draft: IntArray, drafts: IntArray) -> Iterator[FloatArray]:
        """Yield the logits `[b, V]` of draft 0, 1, … up to the longest that a row asks for.

        Args:
            sequences: what has been said so far.
            num_draft: number of drafts of each row `[b]`; a row that has them all may get any finite logits.
            drafts: `[b, K]`; column `i` is filled in between the yields `i` and `i + 1`.
        """

    def draw(self, logits: FloatArray, drafts: IntArray, uniforms: FloatArray, law: Law) -> tuple[IntArray, FloatArray]:
        """Draw the next draft of each row `[b]`, and return with it the law `[b, V]` that it was drawn from.

        Args:
            logits: `[b, V]`.
            drafts: the drafts before this one `[b, i]`.
            uniforms: `[b]`, in [0, 1).
            law: makes a law of logits.
        """
        q = law(logits, drafts)
        if self.greedy:
            q = one_hot_argmax(q)
        return inverse_cdf(q, uniforms), q

    def release(self, slots: IntArray) -> None:  # noqa: B027 - most drafters remember nothing
        """Forget the sequences in those slots `[b]`, if anything is kept of them."""
