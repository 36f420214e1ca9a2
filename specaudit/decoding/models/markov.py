"""First-order Markov chains: language models whose every law is known exactly."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.models.interface import Cache, Forward
from specaudit.decoding.processors import SamplingParameters, process

_TOLERANCE = 1e-9


class MarkovModel:
    """A chain over `V` tokens with a start state, in which the next token depends on the last one.

    The context of a chain is its last token; BOS (−1) stands for the empty prompt.

    Args:
        start: law of the first token, `[V]`.
        transition: row `i` is the law of the token after token `i`, `[V, V]`. Zeros are allowed.

    Raises:
        ValueError: shapes disagree, a probability is negative or not finite, or a row does not sum to 1.
    """

    def __init__(self, start: ArrayLike, transition: ArrayLike) -> None:
        first = np.asarray(start, dtype=np.float64)
        rows = np.asarray(transition, dtype=np.float64)
        if first.ndim != 1 or not first.size or rows.shape != (first.size, first.size):
            raise ValueError(f"start must be [V] and transition [V, V], got {list(first.shape)} and {list(rows.shape)}")
        # The start law is the last row, where the context −1 finds it.
        table = np.vstack([rows, first])
        _check_laws(table)
        with np.errstate(divide="ignore"):
            self._logits = np.log(table)
        # A few rows per set of parameters: processed once, then only gathered.
        self._processed = lru_cache(maxsize=64)(self._process)

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return int(self._logits.shape[1])

    def cache(self, slots: int, *, tokens: int | None = None) -> "TokenCounts":
        """Return an empty memory; see `Model`."""
        return TokenCounts(slots, tokens=tokens)

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
        """Read new tokens; each is a whole context by itself, in a chain as in a tree. See `Model`."""
        return Forward(logits=self.logits(tokens))

    def logits(self, last: IntArray) -> FloatArray:
        """Logits of the next token, `log p`, after each last token: `[...] -> [..., V]`."""
        return self._logits.take(last, axis=0)

    def probabilities(self, last: IntArray, parameters: SamplingParameters) -> FloatArray:
        """Processed probabilities of the next token after each last token: `[...] -> [..., V]`."""
        return self._processed(parameters).take(last, axis=0)

    def _process(self, parameters: SamplingParameters) -> FloatArray:
        return process(self._logits, parameters)


class TokenCounts:
    """The memory of a model that needs none: how many tokens each slot holds, and what room there is.

    Args:
        slots: number of sequences held at once.
        tokens: room for that many tokens over all slots together; None for as many as are asked for.
    """

    def __init__(self, slots: int, *, tokens: int | None = None) -> None:
        self._room = tokens
        self._held = np.zeros(slots, dtype=np.int64)
        self._lengths = np.zeros(slots, dtype=np.int64)

    @property
    def lengths(self) -> IntArray:
        """Committed tokens of every slot `[slots]`."""
        return self._lengths.copy()

    def reserve(self, slots: IntArray, tokens: IntArray) -> BoolArray:
        """Make room for that many more tokens in each slot, first come first served; see `Cache`."""
        if self._room is None:
            return np.ones(len(slots), dtype=np.bool_)
        missing = np.maximum(self._lengths[slots] + tokens - self._held[slots], 0)
        granted: BoolArray = (missing == 0) | (missing.cumsum() <= self._room - self._held.sum())
        self._held[slots[granted]] += missing[granted]
        return granted

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep the tokens of the slots' last forward pass that `kept` `[b, n]` names; see `Cache`."""
        self._lengths[slots] += np.count_nonzero(kept >= 0, axis=1)

    def release(self, slots: IntArray) -> None:
        """Forget everything in those slots and give their room back `[b]`."""
        self._held[slots] = self._lengths[slots] = 0


def _check_laws(table: FloatArray) -> None:
    """Refuse a table `[V + 1, V]`, start last, with a row that is no probability law."""
    names = [*(f"transition[{i}]" for i in range(len(table) - 1)), "start"]
    for name, row in zip(names, table, strict=True):
        if not (np.isfinite(row).all() and (row >= 0).all()):
            raise ValueError(f"{name} must be finite and not negative, got {row.tolist()}")
        if abs(row.sum() - 1) > _TOLERANCE:
            raise ValueError(f"{name} must sum to 1, got {row.sum():.9g}")
