"""Joint words: how often each run of L tokens was emitted, at a given depth or on a given path, in mergeable tables.

A word's code is its number in base V+1: token ids are the digits 0 … V-1, and the digit V is END, the
padding (-1) behind a completion that stopped early. The first token is the most significant digit, so codes
ascend in lexicographic order, END last. Codes are int64 while (V+1)^L < 2^62 and Python integers beyond,
exact in both cases: with a vocabulary of 150,000 that is from four tokens on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

END = -1
"""The padding token behind an early stop; a symbol of its own in a word."""

_DENSE_SPACE = 1 << 20
_DENSE_SHARE = 64
"""Words to an array's cells: zeroing and scanning those costs more than sorting fewer codes."""


def word_index(tokens: npt.ArrayLike, depth: int, length: int, vocabulary_size: int) -> npt.NDArray[Any]:
    """Codes `[N]` of the words of `length` tokens that start at position `depth`.

    Args:
        tokens: Emitted token ids `[N, T]`, padded with -1 after an early stop.
        depth: Position of the word's first token, 0 for the first token emitted.
        length: Tokens in a word, L.
        vocabulary_size: V; token ids are 0 … V-1.

    Returns:
        int64 codes, or Python integers (dtype object) when (V+1)^L ≥ 2^62.

    Raises:
        ValueError: `tokens` is not an integer matrix, the word reaches beyond T, a token is outside
            -1 … V-1, or a token follows END.
    """
    table = _token_table(tokens)
    if depth < 0 or length < 1 or depth + length > table.shape[1]:
        raise ValueError(f"a word of {length} tokens at depth {depth} is not inside {table.shape[1]} tokens")
    return _codes(table[:, None, depth : depth + length], vocabulary_size)[:, 0]


def _token_table(tokens: npt.ArrayLike) -> npt.NDArray[np.integer[Any]]:
    table = np.asarray(tokens)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"tokens must be integers of shape [N, T], got {table.dtype} of shape {table.shape}")
    return table


def _codes(words: npt.NDArray[np.integer[Any]], vocabulary_size: int) -> npt.NDArray[Any]:
    """Codes `[N, W]` of words `[N, W, L]`, checked."""
    words = words.astype(np.int64)
    if ((words < END) | (words >= vocabulary_size)).any():
        raise ValueError(f"tokens must be between -1 and {vocabulary_size - 1}")
    if ((words[..., :-1] == END) & (words[..., 1:] != END)).any():
        raise ValueError("a token follows the end of its completion")
    base, length = vocabulary_size + 1, words.shape[-1]
    dtype = np.int64 if base**length < 2**62 else object
    digits = np.where(words == END, vocabulary_size, words).astype(dtype)
    codes: npt.NDArray[Any] = digits @ np.array([base**k for k in reversed(range(length))], dtype=dtype)
    return codes


def decode(code: int, length: int, vocabulary_size: int) -> tuple[int, ...]:
    """The word `(token, …)` of `length` tokens that `code` stands for, -1 where it had ended.

    Raises:
        ValueError: the code is outside 0 … (V+1)^L - 1.
    """
    base = vocabulary_size + 1
    if not 0 <= code < base**length:
        raise ValueError(f"{code} is no word of {length} tokens over a vocabulary of {vocabulary_size}")
    digits = [int(code) // base**k % base for k in reversed(range(length))]
    return tuple(END if digit == vocabulary_size else digit for digit in digits)


@dataclass(frozen=True, kw_only=True, eq=False)
class Histogram:
    """Counts of the distinct words seen. Histograms over the same space of words add up with `+`.

    Attributes:
        length: Tokens in a word, L.
        vocabulary_size: V.
        codes: Codes of the U distinct words, ascending `[U]`.
        counts: Occurrences of each, positive `[U]`.
    """

    length: int
    vocabulary_size: int
    codes: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]

    @property
    def total(self) -> int:
        """Number of words counted."""
        return int(self.counts.sum())

    def __add__(self, other: "Histogram") -> "Histogram":
        if (self.length, self.vocabulary_size) != (other.length, other.vocabulary_size):
            raise ValueError("histograms of different word lengths or vocabularies cannot be added")
        codes, inverse = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return Histogram(length=self.length, vocabulary_size=self.vocabulary_size, codes=codes, counts=counts)

    def over(self, cells: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Counts `[C + 1]` of the given word codes `[C]`, in their order, then of all other words together.

        Cells must come from a known law or from a pilot sample, never from the counts under test.

        Raises:
            ValueError: a cell is named twice.
        """
        wanted = np.asarray(cells, dtype=self.codes.dtype)
        if len(np.unique(wanted)) != len(wanted):
            raise ValueError("a cell is named twice")
        _, mine, theirs = np.intersect1d(self.codes, wanted, assume_unique=True, return_indices=True)
        counts = np.zeros(len(wanted) + 1, dtype=np.int64)
        counts[theirs] = self.counts[mine]
        counts[-1] = self.total - counts.sum()
        return counts


def count_words(tokens: npt.ArrayLike, depth: int, length: int, vocabulary_size: int) -> Histogram:
    """Histogram of the words of `length` tokens at position `depth` of `tokens [N, T]`.

    Raises:
        ValueError: as `word_index`.
    """
    return _histogram(word_index(tokens, depth, length, vocabulary_size), length, vocabulary_size)


def count_words_by(
    labels: npt.ArrayLike, tokens: npt.ArrayLike, length: int, vocabulary_size: int
) -> dict[int, Histogram]:
    """Histograms of words by the label of their first token, wherever in a completion they begin.

    The labels make the view: the path of verification by which each token came, its position or a bin of depths. A
    label must be fixed before its token is drawn ("step position i was reached", never "this token was accepted"), or
    its words do not have the target's law. Words that begin within L tokens of each other share tokens, so that they
    are not independent draws; those of single tokens are.

    Args:
        labels: Non-negative labels `[N, T]`, or `[T]` for all rows alike (`np.arange(T)`: by position); negative
            where no word is counted, as it ought to be in the padding.
        tokens: Emitted token ids `[N, T]`, padded with -1 after an early stop.
        length: Tokens in a word, L. Words that would reach beyond T are not counted.
        vocabulary_size: V; token ids are 0 … V-1.

    Returns:
        Histograms of the labels that begin a word, ascending.

    Raises:
        ValueError: `labels` are no integers or do not fit `tokens`, there are not L tokens, or as `word_index`.
    """
    table, wanted = _token_table(tokens), np.asarray(labels)
    if not np.issubdtype(wanted.dtype, np.integer) or wanted.shape not in (table.shape, table.shape[1:]):
        raise ValueError(f"labels must be integers of shape {table.shape} or {table.shape[1:]}, got {wanted.shape}")
    if not 1 <= length <= table.shape[1]:
        raise ValueError(f"a word of {length} tokens is not inside {table.shape[1]} tokens")
    words = np.lib.stride_tricks.sliding_window_view(table, length, axis=1)
    first = np.broadcast_to(wanted, table.shape)[:, : words.shape[1]]
    codes, counted = _codes(words, vocabulary_size)[first >= 0], first[first >= 0]
    order = np.argsort(counted, kind="stable")
    found, starts = np.unique(counted[order], return_index=True)
    parts = np.split(codes[order], starts[1:])
    return {int(label): _histogram(part, length, vocabulary_size) for label, part in zip(found, parts, strict=False)}


def _histogram(codes: npt.NDArray[Any], length: int, vocabulary_size: int) -> Histogram:
    """Count codes `[M]` in an array over all words where that is small, by sorting them otherwise."""
    if (vocabulary_size + 1) ** length <= min(_DENSE_SPACE, _DENSE_SHARE * len(codes)):
        dense = np.bincount(codes)
        seen = np.flatnonzero(dense)
        counts = dense[seen]
    else:
        seen, counts = np.unique(codes, return_counts=True)
    return Histogram(length=length, vocabulary_size=vocabulary_size, codes=seen, counts=counts.astype(np.int64))
