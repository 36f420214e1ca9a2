"""From logits to the law that is sampled: temperature, then top-k, then top-p.

The order, and the renormalisation after each filter, are those of the Hugging Face and vLLM samplers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specaudit.decoding.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class SamplingParameters:
    """How a request wants its tokens drawn.

    Attributes:
        temperature: divides the logits; 0 means greedy decoding.
        top_k: number of tokens kept; 0 keeps all.
        top_p: mass of the nucleus kept, in (0, 1]; 1 keeps all.

    Raises:
        ValueError: a parameter is outside its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature must be finite and at least 0, got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be at least 0 (0 keeps all tokens), got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")


EDGE = 1e-9
"""A nucleus is full when it is short of its mass by less: sums differ in their last bits with the order of adding."""

UNFILTERED = SamplingParameters()
"""Temperature 1 without filters: the model's own law."""


def process(logits: ArrayLike, parameters: SamplingParameters) -> FloatArray:
    """Turn logits into the probabilities that tokens are drawn from.

    Args:
        logits: `[..., V]`; −inf forbids a token.
        parameters: temperature, top-k and top-p, applied in this order.

    Returns:
        Probabilities `[..., V]`; at temperature 0 the one-hot law of the argmax.

    Raises:
        ValueError: a row holds NaN or +inf, or forbids every token.
    """
    scores = np.asarray(logits, dtype=np.float64)
    peaks = scores.max(axis=-1)
    if not np.isfinite(peaks).all():
        row = tuple(int(i) for i in np.argwhere(~np.isfinite(peaks))[0])
        raise ValueError(f"logits{list(row)} have no finite maximum: {scores[row].tolist()}")
    if parameters.temperature == 0:
        return one_hot_argmax(scores)
    probabilities = softmax(keep_top_k(scores, parameters.top_k), parameters.temperature)
    return keep_top_p(probabilities, parameters.top_p)


def one_hot_argmax(logits: FloatArray) -> FloatArray:
    """Put all mass on the largest logit of each row `[..., V]`; of equals, on the lowest index."""
    best = logits.argmax(axis=-1, keepdims=True)
    return np.asarray(np.arange(logits.shape[-1]) == best, dtype=np.float64)


def softmax(logits: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Softmax of `logits / temperature` over the last axis `[..., V]`.

    The peak is taken off before the division, so that a tiny temperature cannot produce inf − inf.
    """
    with np.errstate(over="ignore"):
        weights = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def keep_top_k(logits: FloatArray, k: int) -> FloatArray:
    """Forbid all but the `k` largest logits of each row `[..., V]` (0 keeps all).

    Exactly `k` survive: of equal logits at the threshold the lowest indices are kept.
    """
    if not 0 < k < logits.shape[-1]:
        return logits
    dropped = np.argsort(-logits, axis=-1, kind="stable")[..., k:]
    kept = logits.copy()
    np.put_along_axis(kept, dropped, -np.inf, axis=-1)
    return kept


def keep_top_p(probabilities: FloatArray, mass: float) -> FloatArray:
    """Keep the smallest set of most likely tokens whose mass reaches `mass`, renormalised.

    The token that crosses `mass` is kept; equal probabilities are ranked by index.

    Args:
        probabilities: `[..., V]`.
        mass: in (0, 1]; 1 keeps all, tails lost in the rounding of the sum included.
    """
    if mass == 1:
        return probabilities
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=-1)
    reached = ranked.cumsum(axis=-1)
    ranked[..., 1:][reached[..., :-1] >= mass - EDGE] = 0
    kept = np.empty_like(ranked)
    np.put_along_axis(kept, order, ranked, axis=-1)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))
