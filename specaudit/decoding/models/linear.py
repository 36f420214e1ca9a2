"""A product whose rows do not depend on how many are computed at once."""

import numpy as np

from specaudit.decoding.arrays import FloatArray

TILE = 8
"""Rows that every matrix product is computed in."""


def project(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Multiply every row by a matrix, in tiles of one fixed shape.

    BLAS picks another kernel, with another order of summing, for one row than for many: the logits of a token would
    then depend, in their last bits, on its neighbours in the batch and on the number of drafts beside it. With one
    shape there is one kernel, and a row has the same bits in any company.

    Source: He, "Defeating nondeterminism in LLM inference", Thinking Machines Lab 2025 (batch-invariant kernels).

    Args:
        rows: `[..., D]`.
        weight: `[D, E]`.

    Returns:
        `[..., E]`.
    """
    flat = pad_rows(rows.reshape(-1, rows.shape[-1]))
    product = flat.reshape(-1, TILE, rows.shape[-1]) @ weight
    needed = rows.size // rows.shape[-1]
    return product.reshape(-1, weight.shape[1])[:needed].reshape(*rows.shape[:-1], weight.shape[1])


def pad_rows(rows: FloatArray) -> FloatArray:
    """Fill the last but one axis up with zeros to whole tiles: `[..., n, D] -> [..., m, D]`."""
    if not (missing := -rows.shape[-2] % TILE):
        return rows
    padded = np.zeros((*rows.shape[:-2], rows.shape[-2] + missing, rows.shape[-1]))
    padded[..., : rows.shape[-2], :] = rows
    return padded
