"""Few bits: what a quantised model computes, and how rounding can make a token's law depend on its company.

Values are rounded to what FP8 can hold and computed with in float64: as in a tensor core with a wide accumulator,
all error is that of the operands.

Source: Micikevicius et al., "FP8 formats for deep learning", 2022.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Literal, Self

import ml_dtypes
import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.kv import PagedCache
from specaudit.decoding.models.linear import project
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import LayerWeights, Shape, Weights

ScaleScope = Literal["token", "tensor"]

_MOST_PARTS = 16


class Float8(Enum):
    """The two FP8 formats, by exponent and mantissa bits.

    Attributes:
        dtype: what rounds.
        largest: largest finite value.
    """

    E4M3 = (ml_dtypes.float8_e4m3fn, 448.0)
    E5M2 = (ml_dtypes.float8_e5m2, 57_344.0)

    def __init__(self, dtype: type[np.generic], largest: float) -> None:
        self.dtype = dtype
        self.largest = largest

    def rounded(self, values: FloatArray) -> FloatArray:
        """Round to the nearest value that the format holds `[...]`; what is too large becomes the largest."""
        clipped = np.clip(values, -self.largest, self.largest)
        return clipped.astype(self.dtype).astype(np.float64)

    def scaled(self, values: FloatArray, axis: int | None) -> FloatArray:
        """Round after scaling the largest magnitude along the axis (None: of all) to the largest value `[...]`."""
        peak = np.abs(values).max(axis=axis, keepdims=True, initial=0)
        scale = np.where(peak > 0, peak / self.largest, 1)
        return self.rounded(values / scale) * scale


@dataclass(frozen=True, kw_only=True)
class Precision:
    """What of a model is quantised; embedding, norms and head never are. None keeps full precision.

    Attributes:
        weights: format of the layers' matrices, with a scale per output channel.
        activations: format of the rows that are multiplied by those matrices.
        scope: what shares a scale of the activations, found as they come: the components of one `token`; or the
            whole `tensor` of batch and tokens, padding included, so that a token is rounded otherwise in other company.
        kv: format of keys and values in the cache, with scale 1.
    """

    weights: Float8 | None = Float8.E4M3
    activations: Float8 | None = Float8.E4M3
    scope: ScaleScope = "token"
    kv: Float8 | None = None


FP8 = Precision()
"""Weights and activations in E4M3, with a scale per token: as engines quantise unless told otherwise."""


class QuantisedCache(PagedCache):
    """A paged KV cache whose entries are rounded as they are stored.

    Args:
        slots: number of sequences held at once.
        kv: format of the entries.
        sizes: those of `PagedCache`.
    """

    def __init__(self, slots: int, *, kv: Float8, **sizes: Any) -> None:
        super().__init__(slots, **sizes)
        self.kv = kv

    def write(self, layer: int, slots: IntArray, keys: FloatArray, values: FloatArray) -> None:
        """Round keys and values `[b, T, G, W]` of the pending tokens and store them."""
        super().write(layer, slots, self.kv.rounded(keys), self.kv.rounded(values))


class QuantisedTransformer(Transformer):
    """A transformer whose layers compute in FP8.

    Args:
        model: what to quantise; it stays as it is.
        precision: what of it is quantised.
    """

    def __init__(self, model: Transformer, precision: Precision = FP8) -> None:
        self.precision = precision
        super().__init__(model.shape, self._rounded(model.weights), feature_layers=model.feature_layers)
        if precision.kv:
            self.cache_type = partial(QuantisedCache, kv=precision.kv)

    @classmethod
    def from_seed(cls, shape: Shape, seed: int) -> Self:
        """Quantise a transformer with random weights, as a model of this kind is quantised by default."""
        return cls(Transformer.from_seed(shape, seed))

    def perturbed(self, scale: float, seed: int) -> Self:
        """Add noise of `scale` standard deviations to every matrix, and quantise what comes of it."""
        noisy = super().perturbed(scale, seed)
        noisy.weights = self._rounded(noisy.weights)
        return noisy

    def _rounded(self, weights: Weights) -> Weights:
        """Round the matrices of the layers."""
        if self.precision.weights is None:
            return weights
        layers = tuple(_quantised(layer, self.precision.weights) for layer in weights.layers)
        return replace(weights, layers=layers)

    def linear(self, rows: FloatArray, weight: FloatArray) -> FloatArray:
        """Multiply the quantised rows by a matrix of a layer: `[b, T, D] -> [b, T, E]`."""
        if activations := self.precision.activations:
            rows = activations.scaled(rows, axis=-1 if self.precision.scope == "token" else None)
        return project(rows, weight)


class Bfloat16Head(Transformer):
    """A transformer whose logits are sums of parts in bfloat16, cut into the more parts the more rows there are.

    So kernels chosen by batch width work (split-K): a token's logits move a little with its company, and near ties of
    the argmax flip. Layers stay as they are.

    Source: He, "Defeating nondeterminism in LLM inference", Thinking Machines Lab 2025.

    Args:
        model: whose head it is; the model stays as it is.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__(model.shape, model.weights, feature_layers=model.feature_layers)

    def head(self, out: FloatArray) -> FloatArray:
        """Make logits of the normed output: `[..., D] -> [..., V]`."""
        parts = min(_MOST_PARTS, max(1, out.size // out.shape[-1]))
        logits = np.zeros((*out.shape[:-1], self.vocabulary_size))
        for rows, weight in zip(
            np.array_split(out, parts, axis=-1), np.array_split(self.weights.head, parts), strict=True
        ):
            logits = _bfloat16(logits + _bfloat16(project(rows, weight)))
        return logits


def _bfloat16(values: FloatArray) -> FloatArray:
    return values.astype(ml_dtypes.bfloat16).astype(np.float64)


def _quantised(layer: LayerWeights, weights: Float8) -> LayerWeights:
    """Round the matrices of a layer, with a scale for each output channel, which is a column."""
    return replace(
        layer,
        qkv=weights.scaled(layer.qkv, axis=0),
        output=weights.scaled(layer.output, axis=0),
        gate_up=weights.scaled(layer.gate_up, axis=0),
        down=weights.scaled(layer.down, axis=0),
    )
