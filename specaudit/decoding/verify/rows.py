"""Laws that are read row by row, so that a large vocabulary costs no more than the rows that decide."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray

_CELLS = 2**15


def stretches(rows: int, entries: int) -> Iterator[slice]:
    """Divide rows of that many entries into stretches, at least one, of 256 KiB each in double precision.

    Temporary arrays of that size stay in the processor's cache, and numpy's allocator reuses them.
    """
    size = max(1, _CELLS // entries)
    for start in range(0, max(1, rows), size):
        yield slice(start, min(start + size, rows))


def in_turns(rows: IntArray, entries: int) -> Iterator[IntArray]:
    """Divide row numbers into stretches likewise; none if there are none."""
    for part in stretches(len(rows), entries):
        if part.stop:
            yield rows[part]


class Rows(ABC):
    """Laws `[B, n, V]` of which a verifier reads single entries, and whole rows where it draws a token.

    A view that knows its entries without making the row overrides `entries`.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Batch size `B`, positions `n`, vocabulary size `V`."""

    @abstractmethod
    def at(self, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws at those places, `[m], [m] -> [m, V]`; not to be written to."""

    @abstractmethod
    def part(self, rows: slice) -> "Rows":
        """Successive rows of the batch, as a batch of their own."""

    def entries(self, tokens: IntArray) -> FloatArray:
        """Probability of one token at each of the first `k` positions, `[B, k] -> [B, k]`; anything for token −1."""
        found = np.zeros(tokens.shape)
        rows, positions = np.nonzero(tokens >= 0)
        for part in stretches(len(rows), self.shape[2]):
            place = rows[part], positions[part]
            found[place] = self.at(*place)[np.arange(len(place[0])), tokens[place]]
        return found


RowFunction: TypeAlias = Callable[[IntArray, IntArray], FloatArray]
"""Computes the laws `[m, V]` of rows `[m]` of the batch at positions `[m]`, for any `m`, 0 included."""

Laws: TypeAlias = FloatArray | Rows | RowFunction


def as_rows(laws: Laws, batch: int, positions: int) -> Rows:
    """Read laws `[B, n, V]` row by row, whatever they are given as.

    Args:
        laws: an array, a view, or a function of rows and positions.
        batch: size of the batch `B`, which a function does not tell.
        positions: number of positions `n`, which a function does not tell.
    """
    if isinstance(laws, Rows):
        return laws
    if callable(laws):
        nowhere = np.empty(0, dtype=np.int64)
        return ComputedRows(laws, (batch, positions, laws(nowhere, nowhere).shape[1]))
    return ArrayRows(laws)


class ArrayRows(Rows):
    """Laws that lie in memory, `[B, n, V]`, of any float type: only what is read is ever converted or copied."""

    def __init__(self, laws: FloatArray) -> None:
        self._laws = laws

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch size, positions, vocabulary size."""
        return self._laws.shape

    def at(self, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws at those places; a single one in place, without a copy."""
        if len(rows) == 1:
            return np.asarray(self._laws[rows[0], positions[0]][None])
        if not self._laws.flags.c_contiguous:
            return np.asarray(self._laws[rows, positions])
        _, width, vocabulary = self.shape
        # `take` moves whole rows, where numpy's general indexing walks their entries.
        return self._laws.reshape(-1, vocabulary).take(rows * width + positions, axis=0)

    def part(self, rows: slice) -> "ArrayRows":
        """Successive rows of the batch."""
        return ArrayRows(self._laws[rows])

    def entries(self, tokens: IntArray) -> FloatArray:
        """Probability of one token at each of the first positions."""
        batch, used = tokens.shape
        if not self._laws.flags.c_contiguous:
            return np.asarray(self._laws[np.arange(batch)[:, None], np.arange(used), tokens])
        # Token −1 of the very first place would lie before the array.
        return self._laws.reshape(-1).take(_offsets(self._laws.shape, used) + tokens, mode="clip")


# All stretches of a batch but the last have one shape.
@lru_cache(maxsize=8)
def _offsets(shape: tuple[int, ...], used: int) -> IntArray:
    """Where the laws at the first positions begin in an array `[B, n, V]` of that shape, `[B, used]`."""
    batch, width, vocabulary = shape
    offsets = np.ascontiguousarray(np.arange(0, batch * width * vocabulary, vocabulary).reshape(batch, width)[:, :used])
    offsets.flags.writeable = False
    return offsets


class ComputedRows(Rows):
    """Laws that a function computes when they are read.

    Args:
        function: computes them.
        shape: batch size `B`, positions `n`, vocabulary size `V`.
        first: the row of the function's batch that comes first here.
    """

    def __init__(self, function: RowFunction, shape: tuple[int, int, int], first: int = 0) -> None:
        self._function = function
        self._shape = shape
        self._first = first

    @property
    def shape(self) -> tuple[int, int, int]:
        """Batch size, positions, vocabulary size."""
        return self._shape

    def at(self, rows: IntArray, positions: IntArray) -> FloatArray:
        """Compute the laws at those places."""
        return self._function(rows + self._first, positions)

    def part(self, rows: slice) -> "ComputedRows":
        """Successive rows of the batch."""
        batch, positions, vocabulary = self._shape
        start, stop, _ = rows.indices(batch)
        return ComputedRows(self._function, (stop - start, positions, vocabulary), self._first + start)


class ScaledRows(Rows):
    """Laws that are multiplied by a factor each when they are read.

    Args:
        laws: the laws `[B, n, V]`.
        factors: one for each of them `[B, n]`.
    """

    def __init__(self, laws: Rows, factors: FloatArray) -> None:
        self._laws = laws
        self._factors = factors

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch size, positions, vocabulary size."""
        return self._laws.shape

    def at(self, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws at those places, scaled, in their own precision."""
        laws = self._laws.at(rows, positions)
        return laws * self._factors[rows, positions].astype(laws.dtype)[:, None]

    def part(self, rows: slice) -> "ScaledRows":
        """Successive rows of the batch."""
        return ScaledRows(self._laws.part(rows), self._factors[rows])


class OneHotRows(Rows):
    """Laws under which one token is certain at each place.

    Args:
        tokens: those tokens `[B, n]`.
        vocabulary_size: number of tokens `V`.
    """

    def __init__(self, tokens: IntArray, vocabulary_size: int) -> None:
        self._tokens = tokens
        self._vocabulary_size = vocabulary_size

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch size, positions, vocabulary size."""
        return *self._tokens.shape, self._vocabulary_size

    def at(self, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws at those places."""
        laws = np.zeros((len(rows), self._vocabulary_size))
        laws[np.arange(len(rows)), self._tokens[rows, positions]] = 1
        return laws

    def part(self, rows: slice) -> "OneHotRows":
        """Successive rows of the batch."""
        return OneHotRows(self._tokens[rows], self._vocabulary_size)

    def entries(self, tokens: IntArray) -> FloatArray:
        """Probability of one token at each of the first positions."""
        return np.asarray(tokens == self._tokens[:, : tokens.shape[1]], dtype=np.float64)
