"""Shape and weights of a small transformer."""

from dataclasses import dataclass, fields, replace

import numpy as np

from specaudit.decoding.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large a transformer is, and how its random weights are scaled.

    Attributes:
        vocabulary: tokens `V`.
        width: of the residual stream `D`.
        layers: number of layers.
        heads: query heads `H`.
        kv_heads: KV heads `G`, a divisor of `heads`.
        head_width: size of a head `W`, even.
        hidden: width of the gated MLP.
        tied: whether the head is the embedding, transposed.
        rope_base: wavelength dial of the rotary embedding.
        layer_gain: size of what a layer adds to the residual stream, of which the embedding has size 1. The
            smaller, the better a truncated model drafts for the whole one.
        sharpness: standard deviation of the logits: 0 makes the next token uniform, 5 nearly certain.

    Raises:
        ValueError: a size is below 1, the heads do not share evenly, or a head is odd.
    """

    vocabulary: int = 32
    width: int = 32
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 8
    hidden: int = 64
    tied: bool = False
    rope_base: float = 10_000.0
    layer_gain: float = 0.5
    sharpness: float = 2.0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "layers", "heads", "kv_heads", "head_width", "hidden"):
            if (size := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads must divide heads, got {self.kv_heads} and {self.heads}")
        if self.head_width % 2:
            raise ValueError(f"head_width must be even for rotary positions, got {self.head_width}")


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """Weights of one layer; a column belongs to an output.

    Attributes:
        attention_norm: scale of the RMSNorm before attention `[D]`.
        qkv: queries, keys and values of all heads `[D, (H + 2 G) W]`.
        output: back to the residual stream `[H W, D]`.
        mlp_norm: scale of the RMSNorm before the MLP `[D]`.
        gate_up: gate, then what it gates `[D, 2 hidden]`.
        down: back to the residual stream `[hidden, D]`.
    """

    attention_norm: FloatArray
    qkv: FloatArray
    output: FloatArray
    mlp_norm: FloatArray
    gate_up: FloatArray
    down: FloatArray


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of a transformer.

    Attributes:
        embedding: a row per token, that of BOS last, where index −1 finds it, `[V + 1, D]`.
        layers: first to last.
        final_norm: scale of the RMSNorm before the head `[D]`.
        head: `[D, V]`.
    """

    embedding: FloatArray
    layers: tuple[LayerWeights, ...]
    final_norm: FloatArray
    head: FloatArray


def random_weights(shape: Shape, seed: int) -> Weights:
    """Draw weights that keep every layer's signal at a known size."""
    rng = np.random.default_rng(seed)
    width, heads, hidden = shape.width, shape.heads * shape.head_width, shape.hidden

    def matrix(inputs: int, outputs: int, gain: float = 1.0) -> FloatArray:
        return rng.normal(scale=gain / np.sqrt(inputs), size=(inputs, outputs))

    embedding = rng.normal(size=(shape.vocabulary + 1, width))
    layers = tuple(
        LayerWeights(
            attention_norm=np.ones(width),
            qkv=matrix(width, heads + 2 * shape.kv_heads * shape.head_width, gain=1.5),
            output=matrix(heads, width, gain=shape.layer_gain),
            mlp_norm=np.ones(width),
            gate_up=matrix(width, 2 * hidden, gain=1.5),
            down=matrix(hidden, width, gain=shape.layer_gain),
        )
        for _ in range(shape.layers)
    )
    untied = rng.normal(size=(width, shape.vocabulary))
    head = embedding[:-1].T if shape.tied else untied
    return Weights(
        embedding=embedding,
        layers=layers,
        final_norm=np.ones(width),
        head=head * (shape.sharpness / np.sqrt(width)),
    )


def perturb(weights: Weights, scale: float, seed: int) -> Weights:
    """Add noise of `scale` standard deviations of each matrix to it; one seed is one direction."""
    rng = np.random.default_rng(seed)

    def noisy(matrix: FloatArray) -> FloatArray:
        return np.asarray(matrix + scale * matrix.std() * rng.normal(size=matrix.shape))

    def noisy_layer(layer: LayerWeights) -> LayerWeights:
        matrices = {field.name: getattr(layer, field.name) for field in fields(layer)}
        return LayerWeights(**{name: noisy(array) if array.ndim == 2 else array for name, array in matrices.items()})

    return replace(
        weights,
        embedding=noisy(weights.embedding),
        layers=tuple(noisy_layer(layer) for layer in weights.layers),
        head=noisy(weights.head),
    )
