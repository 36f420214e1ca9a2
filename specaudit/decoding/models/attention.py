"""Attention of new queries over cached keys, masked by absolute positions."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.models.linear import TILE, pad_rows


def visible_entries(committed: IntArray, width: int, size: int, visible: BoolArray | None = None) -> BoolArray:
    """Say which cache entries each new token sees.

    New token `i` of a sequence lies at entry `committed + i`. It sees every committed entry, and of the new ones
    those at and before its own place, or those that the tree allows. Masking a rectangle of `T` queries and `S`
    keys by its lower triangle, as `scaled_dot_product_attention(is_causal=True)` of PyTorch documents it
    (`torch.ones(L, S).tril(diagonal=0)`), aligns the corner instead of the positions: with a cache, the first new
    token then sees nothing but BOS.

    Args:
        committed: committed entries of each sequence `[b]`.
        width: number of new tokens `T`.
        size: number of entries `S`.
        visible: for a tree, whether new token i sees new token j `[T, T]`.

    Returns:
        `[b, T, S]`.
    """
    entry = np.arange(size)
    if visible is None:
        own = committed[:, None] + np.arange(width)
        return np.asarray(entry <= own[:, :, None])
    new = entry - committed[:, None]
    inside = (new >= 0) & (new < width)
    among_new = visible[:, np.where(inside, new, 0)].swapaxes(0, 1)
    return np.where(inside[:, None], among_new, (new < 0)[:, None])


def attend(queries: FloatArray, keys: FloatArray, values: FloatArray, mask: BoolArray) -> FloatArray:
    """Average the values, weighted by the softmax of the scaled scores, with KV heads shared by groups of queries.

    Each page is weighed by itself and the pages are added in order, all products having one shape: a row does not
    depend, even in its last bits, on the number of queries, on its neighbours, or on how many hidden entries follow.

    Source: Ainslie et al., "GQA: training generalized multi-query transformer models", 2023.

    Args:
        queries: `[b, T, H, W]`; queries `g·H/G` to `(g+1)·H/G − 1` share KV head `g`.
        keys: `P` pages of each sequence `[b, P, G, page, W]`.
        values: `[b, P, G, page, W]`.
        mask: entries that each query sees `[b, T, P · page]`; at least one.

    Returns:
        `[b, T, H, W]`.
    """
    batch, width, heads, size = queries.shape
    pages, groups = keys.shape[1:3]
    shared = heads // groups
    # The queries of one KV head lie side by side, in tiles: [b, 1, G, tiles, TILE, W].
    rows = queries.reshape(batch, width, groups, shared, size).transpose(0, 2, 1, 3, 4)
    rows = pad_rows(rows.reshape(batch, 1, groups, width * shared, size) / np.sqrt(size))
    rows = rows.reshape(batch, 1, groups, -1, TILE, size)
    hidden = _tiled(~mask, shared, pages)
    scores = rows @ keys[:, :, :, None].swapaxes(-1, -2)
    np.copyto(scores, -np.inf, where=hidden)
    peak = scores.max(axis=5, keepdims=True).max(axis=1, keepdims=True)
    weights = np.exp(np.subtract(scores, peak, out=scores), out=scores)
    total = weights.sum(axis=5).sum(axis=1)
    mixed: FloatArray = (weights @ values[:, :, :, None]).sum(axis=1) / total[..., None]
    out = mixed.reshape(batch, groups, -1, size)[:, :, : width * shared]
    return out.reshape(batch, groups, width, shared, size).transpose(0, 2, 1, 3, 4).reshape(batch, width, heads, size)


def _tiled(hidden: BoolArray, shared: int, pages: int) -> BoolArray:
    """Lay a mask `[b, T, S]` out like the scores: `[b, P, 1, tiles, TILE, page]`; padding hides nothing."""
    batch, width, size = hidden.shape
    padded = np.zeros((batch, -(-width * shared // TILE) * TILE, size), dtype=np.bool_)
    padded[:, : width * shared] = np.repeat(hidden, shared, axis=1)
    return padded.reshape(batch, 1, -1, TILE, pages, size // pages).transpose(0, 4, 1, 2, 3, 5)
