"""An n-gram model of one text: what followed the last tokens there, or as many of them as are found."""

from collections.abc import Sequence

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.models.interface import BOS, Cache, Forward
from specaudit.decoding.models.markov import TokenCounts


class NgramModel:
    """A model whose next token depends on the last `order` − 1 tokens, backing off to fewer.

    The law behind `n` tokens is `(c + m · law behind n − 1) / (Σ c + m)`, with the counts `c` of what followed them in
    the text, and `m` = `discount`; behind none it is uniform.

    Source: MacKay, Bauman Peto, "A hierarchical Dirichlet language model", Natural Language Engineering 1995.

    Args:
        text: the tokens it was made from.
        vocabulary_size: number of tokens `V`.
        order: longest n-gram, at least 2.
        discount: weight of the law with a token less.

    Raises:
        ValueError: `order` is below 2 or the text not longer, or the discount is not above 0.
    """

    def __init__(self, text: Sequence[int], vocabulary_size: int, *, order: int = 3, discount: float = 0.02) -> None:
        if not 2 <= order < len(text):
            raise ValueError(f"order must be 2 to {len(text) - 1}, less than the text has tokens, got {order}")
        if not discount > 0:
            raise ValueError(f"discount must be above 0, got {discount}")
        self._text = np.array(text, dtype=np.int64)
        self._follows = np.eye(vocabulary_size)[self._text]
        self._order = order
        self._discount = discount

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return int(self._follows.shape[1])

    def cache(self, slots: int, *, tokens: int | None = None) -> "LastTokens":
        """Return an empty memory; see `Model`."""
        return LastTokens(slots, self._order - 1, tokens=tokens)

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
        """Read new tokens; see `Model`.

        Raises:
            ValueError: the tokens form a tree.
        """
        if visible is not None:
            raise ValueError("an n-gram model reads chains, no trees")
        assert isinstance(cache, LastTokens)
        contexts = np.lib.stride_tricks.sliding_window_view(cache.read(slots, tokens), self._order - 1, axis=1)
        return Forward(logits=np.log(self.laws(contexts[:, 1:])))

    def laws(self, context: IntArray) -> FloatArray:
        """Law of the next token behind contexts `[b, T, order − 1] -> [b, T, V]`."""
        law = np.full((*context.shape[:2], self.vocabulary_size), 1 / self.vocabulary_size)
        # Where the text goes on with entry j: do the last tokens before j agree with the context's?
        agrees = np.ones((*context.shape[:2], len(self._text)), dtype=np.bool_)
        for back in range(self._order):
            if back:
                agrees[..., :back] = False
                agrees[..., back:] &= context[..., -back, None] == self._text[:-back]
            counts = agrees @ self._follows
            law = (counts + self._discount * law) / (counts.sum(axis=-1, keepdims=True) + self._discount)
        return law


class LastTokens(TokenCounts):
    """The memory of an n-gram model: the last committed tokens of each slot.

    Args:
        slots: number of sequences held at once.
        kept: tokens that are remembered of each.
        tokens: room for that many tokens over all slots together; None for as many as are asked for.
    """

    def __init__(self, slots: int, kept: int, *, tokens: int | None = None) -> None:
        super().__init__(slots, tokens=tokens)
        self._last = np.full((slots, kept), BOS)
        self._pending = np.full((slots, 1), BOS)

    def read(self, slots: IntArray, tokens: IntArray) -> IntArray:
        """Leave new tokens `[b, T]` pending; return them behind those that are remembered, `[b, kept + T]`."""
        if (missing := tokens.shape[1] - self._pending.shape[1]) > 0:
            self._pending = np.pad(self._pending, ((0, 0), (0, missing)))
        self._pending[slots, : tokens.shape[1]] = tokens
        return np.hstack([self._last[slots], tokens])

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep the tokens of the slots' last forward pass that `kept` `[b, n]` names; see `Cache`."""
        super().commit(slots, kept)
        said = np.hstack([self._last[slots], np.take_along_axis(self._pending[slots], kept.clip(min=0), axis=1)])
        last = np.count_nonzero(kept >= 0, axis=1)[:, None] + np.arange(self._last.shape[1])
        self._last[slots] = np.take_along_axis(said, last, axis=1)

    def release(self, slots: IntArray) -> None:
        """Forget everything in those slots and give their room back `[b]`."""
        super().release(slots)
        self._last[slots] = BOS
