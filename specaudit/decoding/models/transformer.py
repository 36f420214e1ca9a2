"""A decoder-only transformer in numpy: RMSNorm, rotary positions, grouped KV heads, SwiGLU.

Source: the architecture of Llama (Touvron et al. 2023), with grouped-query attention (Ainslie et al. 2023).
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.kv import PagedCache
from specaudit.decoding.models.attention import attend, visible_entries
from specaudit.decoding.models.inputs import check_tokens
from specaudit.decoding.models.interface import Cache, Forward
from specaudit.decoding.models.linear import project
from specaudit.decoding.models.rotary import rotate, rotations
from specaudit.decoding.models.weights import LayerWeights, Shape, Weights, perturb, random_weights

_EPSILON = 1e-6


def rms_norm(hidden: FloatArray, scale: FloatArray) -> FloatArray:
    """Divide each row `[..., D]` by its root mean square.

    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.
    """
    square = (hidden * hidden).sum(axis=-1, keepdims=True) / hidden.shape[-1]
    return np.asarray(hidden / np.sqrt(square + _EPSILON) * scale)


def _default_feature_layers(layers: int) -> tuple[int, ...]:
    """A low and a middle layer; the last one's normed output is a feature anyway."""
    return tuple(sorted({0, layers // 2}))


class Transformer:
    """A language model that implements `models.interface.Model`, trees included.

    What is computed for a token depends on the tokens that it sees and on nothing else, to the last bit: not on its
    neighbours in the batch, on the number of tokens read at once, or on where its keys lie in the pool.

    Args:
        shape: sizes.
        weights: of that shape.
        feature_layers: layers whose residual streams drafters may look at, counted from 0; by default the first
            and the middle one.
    """

    cache_type: Callable[..., PagedCache] = PagedCache
    """Makes the cache, of its sizes."""

    def __init__(self, shape: Shape, weights: Weights, *, feature_layers: tuple[int, ...] | None = None) -> None:
        self.shape = shape
        self.weights = weights
        self.feature_layers = _default_feature_layers(shape.layers) if feature_layers is None else feature_layers

    @classmethod
    def from_seed(cls, shape: Shape, seed: int) -> Self:
        """Build a transformer with random weights."""
        return cls(shape, random_weights(shape, seed))

    def truncated(self, layers: int) -> Self:
        """Keep the first layers, the final norm and the head: a drafter that exits early.

        Raises:
            ValueError: there are not so many layers.
        """
        if not 1 <= layers <= self.shape.layers:
            raise ValueError(f"a model of {self.shape.layers} layers cannot be cut to {layers}")
        cut = self._with(replace(self.weights, layers=self.weights.layers[:layers]))
        cut.shape = replace(self.shape, layers=layers)
        cut.feature_layers = _default_feature_layers(layers)
        return cut

    def perturbed(self, scale: float, seed: int) -> Self:
        """Add noise of `scale` standard deviations to every matrix: a drafter as good as the noise is small."""
        return self._with(perturb(self.weights, scale, seed))

    def _with(self, weights: Weights) -> Self:
        """The same model, whatever kind it is of, with other weights."""
        other = copy(self)
        other.weights = weights
        return other

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.shape.vocabulary

    def cache(self, slots: int, *, tokens: int | None = None) -> PagedCache:
        """Return an empty KV cache, with room for that many tokens over all slots together, or growing."""
        shape = self.shape
        return self.cache_type(slots, layers=shape.layers, heads=shape.kv_heads, width=shape.head_width, tokens=tokens)

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
        """Read new tokens `[b, T]`, as `models.interface.Model.forward` says; features are `[b, T, F]`.

        Their last `D` components are the normed output, of which `head` makes the logits.

        Raises:
            ValueError: tokens or counts are out of range, or the cache has no room.
            TypeError: the cache is not one of `cache()`.
        """
        if not isinstance(cache, PagedCache):
            raise TypeError(f"a transformer reads a cache made by its cache(), got {type(cache).__name__}")
        check_tokens(tokens, count, self.vocabulary_size)
        cache.extend(slots, count)
        committed, width = cache.lengths[slots], tokens.shape[1]
        pages = -(-int((committed + count).max(initial=1)) // cache.page)
        mask = self.mask(committed, width, pages * cache.page, visible)
        positions = committed[:, None] + (np.arange(width) if depth is None else depth)
        turn = rotations(positions, self.shape.head_width, self.shape.rope_base)
        hidden = self.embed(tokens)
        features = []
        for i, layer in enumerate(self.weights.layers):
            queries, keys, values = self._heads(rms_norm(hidden, layer.attention_norm), turn, layer)
            cache.write(i, slots, keys, values)
            mixed = attend(queries, *cache.read(i, slots, pages), mask)
            hidden = hidden + self.linear(mixed.reshape(*tokens.shape, -1), layer.output)
            hidden = hidden + self._mlp(rms_norm(hidden, layer.mlp_norm), layer)
            if i in self.feature_layers:
                features.append(hidden)
        out = rms_norm(hidden, self.weights.final_norm)
        return Forward(logits=self.head(out), features=np.concatenate([*features, out], axis=-1))

    def embed(self, tokens: IntArray) -> FloatArray:
        """Look tokens up: `[...] -> [..., D]`."""
        return self.weights.embedding[tokens]

    def head(self, out: FloatArray) -> FloatArray:
        """Make logits of the normed output: `[..., D] -> [..., V]`."""
        return project(out, self.weights.head)

    def mask(self, committed: IntArray, width: int, size: int, visible: BoolArray | None) -> BoolArray:
        """Say which cache entries each new token sees `[b, T, S]`; see `attention.visible_entries`."""
        return visible_entries(committed, width, size, visible)

    def linear(self, rows: FloatArray, weight: FloatArray) -> FloatArray:
        """Multiply the rows by a matrix of a layer: `[b, T, D] -> [b, T, E]`."""
        return project(rows, weight)

    def _heads(
        self, hidden: FloatArray, turn: tuple[FloatArray, FloatArray], layer: LayerWeights
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Make queries `[b, T, H, W]`, keys and values `[b, T, G, W]` of the normed stream."""
        shape = self.shape
        both = self.linear(hidden, layer.qkv).reshape(*hidden.shape[:2], -1, shape.head_width)
        values = both[:, :, shape.heads + shape.kv_heads :]
        turned = rotate(both[:, :, : shape.heads + shape.kv_heads], *turn)
        return turned[:, :, : shape.heads], turned[:, :, shape.heads :], values

    def _mlp(self, hidden: FloatArray, layer: LayerWeights) -> FloatArray:
        """Apply the gated MLP to the normed stream.

        Source: Shazeer, "GLU variants improve transformer", 2020 (SwiGLU).
        """
        gate, up = np.split(self.linear(hidden, layer.gate_up), 2, axis=-1)
        return self.linear(gate / (1 + np.exp(-gate)) * up, layer.down)
