"""The baseline that every drafter ought to beat: one law for all contexts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.drafters.logits import LogitDrafter


class UnigramDrafter(LogitDrafter):
    """Drafts from the frequencies of the tokens, whatever was said before.

    Args:
        probabilities: how often each token occurs `[V]`; need not be normalised.
        greedy: propose the most frequent token, with one-hot laws.

    Raises:
        ValueError: the probabilities are not one row of finite numbers, none negative, some positive.
    """

    def __init__(self, probabilities: ArrayLike, *, greedy: bool = False) -> None:
        law = np.asarray(probabilities, dtype=np.float64)
        if law.ndim != 1 or not (np.isfinite(law).all() and (law >= 0).all() and law.any()):
            raise ValueError(f"probabilities must be finite, not negative, not all 0, of shape [V]; got {law.tolist()}")
        super().__init__(law.size, greedy=greedy)
        with np.errstate(divide="ignore"):
            self._logits = np.log(law)

    def logits(self, sequences: Sequences, num_draft: IntArray, drafts: IntArray) -> Iterator[FloatArray]:
        """Yield the same logits `[b, V]` at every position."""
        for _ in range(num_draft.max(initial=0)):
            yield np.tile(self._logits, (len(num_draft), 1))
