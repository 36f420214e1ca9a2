"""Random streams of their own for each request.

A stream is a function of (seed, domain, counter) alone, so the tokens of a request depend neither on
its neighbours in the batch nor on the order in which rows leave it.
"""

from copy import copy
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.arrays import FloatArray, IntArray

# The increment of SplitMix64: odd, so that a counter times it visits all 2**64 words.
_GAMMA = 0x9E3779B97F4A7C15


class UniformSource(Protocol):
    """Anything that draws uniforms as `numpy.random.Generator.random` does."""

    def random(self, size: tuple[int, int], /) -> FloatArray:
        """Draw float64 uniforms in [0, 1) of shape `size`."""
        ...


class Domain(IntEnum):
    """Who draws: drafter and verifier never share a stream, or their draws are correlated."""

    DRAFTER = 1
    VERIFIER = 2


class RowStreams:
    """Counter-based uniform streams, one per row of a batch.

    Word `t` of a row is SplitMix64's finaliser of `key + t·γ`; the key is the finalised seed, finalised
    again with the domain, so neighbouring seeds start at unrelated places of the counter's orbit.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Args:
        seeds: one integer per row `[B]`.
        domain: the drawer whom these streams belong to.

    Raises:
        ValueError: the seeds are not a one-dimensional array of integers.
    """

    def __init__(self, seeds: NDArray[np.integer], domain: Domain) -> None:
        if seeds.ndim != 1 or not np.issubdtype(seeds.dtype, np.integer):
            raise ValueError(f"seeds must be integers of shape [B], got {seeds.dtype} {list(seeds.shape)}")
        keys = seeds.astype(np.uint64)
        for word in (1, domain):
            keys += np.array(word * _GAMMA % 2**64, dtype=np.uint64)
            _finalise(keys)
        self._keys = keys
        self._counters = np.zeros(len(seeds), dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def random(self, size: tuple[int, int], /) -> FloatArray:
        """Draw the next `m` uniforms of every row, float64 in [0, 1), as `[B, m]`.

        Raises:
            ValueError: `size[0]` is not the number of rows.
        """
        rows, draws = size
        if rows != len(self):
            raise ValueError(f"{len(self)} streams cannot fill {rows} rows")
        words: NDArray[np.uint64] = np.add.outer(self._counters, np.arange(draws, dtype=np.uint64))
        words *= _GAMMA
        words += self._keys[:, None]
        _finalise(words)
        self._counters += draws
        # The upper 53 bits fill a double's significand, so that 1 is never reached.
        words >>= 11
        return words.astype(np.float64) * 2.0**-53

    def rows(self, index: IntArray | slice) -> "RowStreams":
        """Select the streams of some rows, each where it stands; what they draw does not move the others."""
        kept = copy(self)
        kept._keys = self._keys[index]
        kept._counters = self._counters[index].copy()
        return kept

    def at(self, counters: IntArray) -> "RowStreams":
        """Return the streams where so many uniforms have been drawn `[B]`."""
        moved = copy(self)
        moved._counters = counters.astype(np.uint64)
        return moved

    def put(self, index: IntArray | slice, streams: "RowStreams") -> None:
        """Let rows `index` go on as the given streams do."""
        self._keys[index] = streams._keys
        self._counters[index] = streams._counters

    def join(self, *others: "RowStreams") -> "RowStreams":
        """Append the rows of other batches."""
        joined = copy(self)
        joined._keys = np.concatenate([self._keys, *(one._keys for one in others)])
        joined._counters = np.concatenate([self._counters, *(one._counters for one in others)])
        return joined


class Dealt:
    """Deals out uniforms `[B, m]` that were drawn before, all at once."""

    def __init__(self, uniforms: FloatArray) -> None:
        self._uniforms = uniforms

    def random(self, size: tuple[int, int], /) -> FloatArray:
        """Hand out all of them.

        Raises:
            ValueError: `size` is another than theirs.
        """
        if size != self._uniforms.shape:
            raise ValueError(f"uniforms of shape {list(self._uniforms.shape)} cannot fill {list(size)}")
        return self._uniforms


def _finalise(words: NDArray[np.uint64]) -> None:
    """Apply SplitMix64's finaliser in place: every input bit flips every output bit half of the time."""
    words ^= words >> 30
    words *= 0xBF58476D1CE4E5B9
    words ^= words >> 27
    words *= 0x94D049BB133111EB
    words ^= words >> 31
