"""Drawing tokens by the inverse of the cumulative distribution."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray

_BLOCK = 512
_NARROW = 16


def inverse_cdf(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """Draw one token per row, never one of weight zero.

    A long row is summed by blocks, and only the block that the uniform falls into is searched token by token.

    Args:
        weights: `[B, V]`, of any float type, non-negative; need not be normalised.
        uniforms: `[B]`, in [0, 1).

    Returns:
        Tokens `[B]`: the first whose cumulative weight exceeds `uniform · total`; −1 in a row without any weight.
    """
    vocabulary = weights.shape[1]
    if vocabulary <= _BLOCK:
        cdf = _cumulative(weights)
        return _search(cdf, uniforms * cdf[-1])
    cdf = _cumulative(np.add.reduceat(weights, np.arange(0, vocabulary, _BLOCK), axis=1))
    threshold = uniforms * cdf[-1]
    block = np.maximum(_search(cdf, threshold), 0)
    row = np.arange(len(weights))
    before = np.where(block > 0, cdf[block - 1, row], 0)
    places = block[:, None] * _BLOCK + np.arange(_BLOCK)
    inside = weights[row[:, None], np.minimum(places, vocabulary - 1)]
    inside[places >= vocabulary] = 0
    return block * _BLOCK + _search(_cumulative(inside), threshold - before)


def _cumulative(weights: FloatArray) -> FloatArray:
    """Cumulative sums of the rows `[B, n]`, in double precision, as columns `[n, B]`."""
    if weights.shape[1] > _NARROW:
        return weights.cumsum(axis=1, dtype=np.float64).T
    # numpy accumulates row by row, which for short rows takes seven times as long as adding whole columns.
    cdf = np.array(weights.T, dtype=np.float64, order="C")
    for i in range(1, len(cdf)):
        cdf[i] += cdf[i - 1]
    return cdf


def _search(cdf: FloatArray, threshold: FloatArray) -> IntArray:
    """Index of the first cumulative sum `[n, B]` that exceeds the threshold `[B]`.

    A threshold that rounding has put at the total or beyond it is taken back below the total: no uniform is without
    a token, and "exceeds" leaves no weightless token a uniform. Where the total is 0, −1.
    """
    total = cdf[-1]
    beyond = threshold >= total
    some = beyond.any()
    if some:
        threshold = np.where(beyond, np.nextafter(total, 0), threshold)
    # The narrowest counter that holds the answer adds the most columns at once.
    index = (cdf <= threshold).sum(axis=0, dtype=np.min_scalar_type(len(cdf))).astype(np.int64)
    if some:
        index[total <= 0] = -1
    return np.asarray(index)
