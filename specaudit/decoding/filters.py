"""The filters of a law, on logits: each forbids tokens by −inf, with one parameter per row or one for all."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray

EDGE = 1e-9
"""A nucleus is full when it is short of its mass by less: sums differ in their last bits with the order of adding."""


def softmax(logits: FloatArray, temperature: float = 1.0, *, peak: FloatArray | None = None) -> FloatArray:
    """Softmax of `logits / temperature` over the last axis `[..., V]`; all 0 where every token is forbidden.

    Args:
        logits: `[..., V]`.
        temperature: above 0.
        peak: largest logit of each row `[..., 1]`, finite, where it is known already.
    """
    shifted = logits - (_peak(logits) if peak is None else peak)
    if temperature != 1:
        with np.errstate(over="ignore"):
            shifted /= temperature
    weights = np.exp(shifted, out=shifted)
    # The likeliest token weighs 1, unless there is none.
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1)
    return weights


def log_softmax(logits: FloatArray) -> FloatArray:
    """Logarithm of the softmax over the last axis `[..., V]`."""
    shifted = logits - _peak(logits)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def one_hot_argmax(logits: FloatArray) -> FloatArray:
    """Put all mass on the largest logit of each row `[..., V]`; of equals, on the lowest index."""
    best = logits.argmax(axis=-1, keepdims=True)
    return np.asarray(np.arange(logits.shape[-1]) == best, dtype=np.float64)


def divide(logits: FloatArray, temperature: FloatArray) -> FloatArray:
    """Divide logits `[..., V]` by a temperature `[..., 1]`, the largest being 0 then.

    The peak is taken off before the division, so that a tiny temperature cannot produce inf − inf.
    """
    with np.errstate(over="ignore"):
        return np.asarray((logits - _peak(logits)) / temperature)


def keep_min_p(logits: FloatArray, share: FloatArray) -> FloatArray:
    """Forbid tokens of logits `[..., V]` that are less likely than `share` `[..., 1]`, above 0, of the likeliest."""
    return np.where(logits < _peak(logits) + np.log(share) - EDGE, -np.inf, logits)


def keep_top_k(logits: FloatArray, k: IntArray) -> FloatArray:
    """Forbid all but the `k` `[..., 1]`, at least 1, largest logits of each row `[..., V]`.

    Exactly `k` survive: of equal logits at the threshold the lowest indices are kept.
    """
    order = np.argsort(-logits, axis=-1, kind="stable")
    ranked = np.take_along_axis(logits, order, axis=-1)
    return _unranked(np.where(np.arange(logits.shape[-1]) < k, ranked, -np.inf), order)


def keep_top_p(logits: FloatArray, mass: FloatArray) -> FloatArray:
    """Keep the smallest set of most likely tokens of each row `[..., V]` whose mass reaches `mass` `[..., 1]`.

    The token that crosses `mass` is kept; equally likely ones are ranked by index.
    """
    law = softmax(logits)
    order = np.argsort(-law, axis=-1, kind="stable")
    reached = np.take_along_axis(law, order, axis=-1).cumsum(axis=-1)
    ranked = np.take_along_axis(logits, order, axis=-1)
    ranked[..., 1:][reached[..., :-1] >= mass - EDGE] = -np.inf
    return _unranked(ranked, order)


def _peak(logits: FloatArray) -> FloatArray:
    """Largest logit of each row `[..., 1]`; 0 where every token is forbidden."""
    peak = logits.max(axis=-1, keepdims=True)
    return np.where(np.isneginf(peak), 0, peak)


def _unranked(ranked: FloatArray, order: IntArray) -> FloatArray:
    """Put ranked logits back to where their tokens stand."""
    logits = np.empty_like(ranked)
    np.put_along_axis(logits, order, ranked, axis=-1)
    return logits
