"""First-order Markov chains: language models whose every law is known exactly."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.processors import SamplingParameters, process

_TOLERANCE = 1e-9


class MarkovModel:
    """A chain over `V` tokens with a start state, in which the next token depends on the last one.

    The context of a chain is its last token; −1 stands for the empty prompt.

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

    def logits(self, last: IntArray) -> FloatArray:
        """Logits of the next token, `log p`, after each last token: `[...] -> [..., V]`."""
        return self._logits.take(last, axis=0)

    def probabilities(self, last: IntArray, parameters: SamplingParameters) -> FloatArray:
        """Processed probabilities of the next token after each last token: `[...] -> [..., V]`."""
        return self._processed(parameters).take(last, axis=0)

    def _process(self, parameters: SamplingParameters) -> FloatArray:
        return process(self._logits, parameters)


def _check_laws(table: FloatArray) -> None:
    """Refuse a table `[V + 1, V]`, start last, with a row that is no probability law."""
    names = [*(f"transition[{i}]" for i in range(len(table) - 1)), "start"]
    for name, row in zip(names, table, strict=True):
        if not (np.isfinite(row).all() and (row >= 0).all()):
            raise ValueError(f"{name} must be finite and not negative, got {row.tolist()}")
        if abs(row.sum() - 1) > _TOLERANCE:
            raise ValueError(f"{name} must sum to 1, got {row.sum():.9g}")
