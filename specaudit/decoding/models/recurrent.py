"""A language model with a recurrent state instead of a KV cache, and the snapshots that rolling it back needs."""

from collections.abc import Callable
from typing import Self

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.models.inputs import check_tokens
from specaudit.decoding.models.interface import Cache, Forward
from specaudit.decoding.models.linear import project
from specaudit.decoding.models.transformer import rms_norm

_MEMORY = 1.5
"""Bias of the decay: the typical component forgets a fifth with each token."""


class SnapshotCache:
    """The state of every slot after each token of its last forward pass.

    A state is a sum over all tokens read: unlike a KV entry, a token cannot be taken out of it. So each pass keeps
    the state behind every one of its tokens, and committing a prefix is choosing one of them.

    Args:
        slots: number of sequences held at once.
        width: size of a state `D`.

    Raises:
        ValueError: a size is below 1.
    """

    def __init__(self, slots: int, width: int) -> None:
        if min(slots, width) < 1:
            raise ValueError(f"a cache needs sizes of at least 1, got {min(slots, width)}")
        self._snapshots = np.zeros((slots, 1, width))
        self._chosen = np.zeros(slots, dtype=np.int64)
        self._lengths = np.zeros(slots, dtype=np.int64)
        self._pending = np.zeros(slots, dtype=np.int64)

    @property
    def lengths(self) -> IntArray:
        """Committed tokens of every slot `[slots]`."""
        return self._lengths.copy()

    def reserve(self, slots: IntArray, tokens: IntArray) -> BoolArray:
        """Say that there is room: a state does not grow with the tokens read."""
        return np.ones(len(slots), dtype=np.bool_)

    def state(self, slots: IntArray, count: IntArray) -> FloatArray:
        """Return the state that a pass over `count` new tokens starts from `[b, D]`."""
        return self._snapshots[slots, self._chosen[slots]]

    def write(self, slots: IntArray, states: FloatArray, count: IntArray) -> None:
        """Store the states behind the new tokens `[b, T, D]`, pending until `commit`.

        The first snapshot stays the committed state, which a pass that keeps nothing falls back to.
        """
        before = self.state(slots, count)
        if (short := 1 + states.shape[1] - self._snapshots.shape[1]) > 0:
            self._snapshots = np.pad(self._snapshots, ((0, 0), (0, short), (0, 0)))
        self._snapshots[slots, 0] = before
        self._snapshots[slots, 1 : 1 + states.shape[1]] = states
        self._chosen[slots] = 0
        self._pending[slots] = count

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep a prefix of the tokens of the slots' last forward pass: choose the state behind it.

        Args:
            slots: `[b]`.
            kept: 0, 1, … padded with −1 on the right, `[b, n]`.

        Raises:
            ValueError: it is no prefix, or longer than the pass.
        """
        number = (kept >= 0).sum(axis=1)
        prefix = np.where(np.arange(kept.shape[1]) < number[:, None], np.arange(kept.shape[1]), -1)
        if (bad := (kept != prefix).any(axis=1) | (number > self._pending[slots])).any():
            row = int(bad.argmax())
            raise ValueError(
                f"slot {slots[row]} cannot keep tokens {kept[row].tolist()}: a recurrent state holds "
                f"a prefix of the {self._pending[slots[row]]} pending ones, never a path of a tree"
            )
        self._chosen[slots] += number
        self._lengths[slots] += number
        self._pending[slots] = 0

    def release(self, slots: IntArray) -> None:
        """Forget everything in those slots `[b]`."""
        self._snapshots[slots] = 0
        self._chosen[slots] = self._lengths[slots] = self._pending[slots] = 0


class RecurrentModel:
    """One layer of gated linear recurrence between an embedding and a head.

    `h_t = a_t · h_{t−1} + sqrt(1 − a_t²) · x_t`, where decay `a_t` and input `x_t` are functions of token `t`.

    Source: De et al., "Griffin: mixing gated linear recurrences with local attention", 2024 (RG-LRU).

    Args:
        embedding: a row per token, that of BOS last, `[V + 1, D]`.
        gates: decay, input and output gate `[D, 3 D]`.
        output: back to the residual stream `[D, D]`.
        head: `[D, V]`.
    """

    cache_type: Callable[..., SnapshotCache] = SnapshotCache
    """Makes the cache, of its sizes."""

    def __init__(self, embedding: FloatArray, gates: FloatArray, output: FloatArray, head: FloatArray) -> None:
        self.embedding, self.gates, self.output, self.head = embedding, gates, output, head

    @classmethod
    def from_seed(cls, vocabulary: int, width: int, *, seed: int, sharpness: float = 2.0) -> Self:
        """Build a model with random weights; `sharpness` is the standard deviation of its logits."""
        rng = np.random.default_rng(seed)
        size = 1 / np.sqrt(width)
        return cls(
            rng.normal(size=(vocabulary + 1, width)),
            rng.normal(scale=1.5 * size, size=(width, 3 * width)),
            rng.normal(scale=1.5 * size, size=(width, width)),
            rng.normal(scale=sharpness * size, size=(width, vocabulary)),
        )

    def perturbed(self, scale: float, seed: int) -> Self:
        """Add noise of `scale` standard deviations to every matrix: a drafter as good as the noise is small."""
        rng = np.random.default_rng(seed)
        matrices = (self.embedding, self.gates, self.output, self.head)
        return type(self)(*(matrix + scale * matrix.std() * rng.normal(size=matrix.shape) for matrix in matrices))

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return int(self.head.shape[1])

    def cache(self, slots: int, *, tokens: int | None = None) -> SnapshotCache:
        """Return empty states; they take the same room for any number of tokens."""
        return self.cache_type(slots, len(self.output))

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
        """Read new tokens `[b, T]`, as `models.interface.Model.forward` says; features are what the head reads.

        Raises:
            ValueError: tokens or counts are out of range, or a tree is asked for.
            TypeError: the cache is not one of `cache()`.
        """
        if not isinstance(cache, SnapshotCache):
            raise TypeError(f"a recurrent model reads a cache made by its cache(), got {type(cache).__name__}")
        if visible is not None or depth is not None:
            raise ValueError("a recurrent state follows one path: verify a chain of drafts instead of a tree")
        check_tokens(tokens, count, self.vocabulary_size)
        embedded = self.embedding[tokens]
        decay, drive, gate = np.split(project(embedded, self.gates), 3, axis=-1)
        kept = _sigmoid(decay + _MEMORY)
        states = np.sqrt(1 - kept * kept) * drive
        last = cache.state(slots, count)
        for t in range(tokens.shape[1]):
            states[:, t] += kept[:, t] * last
            last = states[:, t]
        cache.write(slots, states, count)
        out = rms_norm(embedded + project(states * gate * _sigmoid(gate), self.output), np.ones(len(self.output)))
        return Forward(logits=project(out, self.head), features=out)


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)))
