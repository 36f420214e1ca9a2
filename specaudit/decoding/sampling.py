"""Drawing tokens by the inverse of the cumulative distribution."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray


def inverse_cdf(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """Draw one token per row, never one of weight zero.

    Args:
        weights: `[B, V]`, non-negative, each row with a positive sum; need not be normalised.
        uniforms: `[B]`, in [0, 1).

    Returns:
        Tokens `[B]`: the first whose cumulative weight exceeds `uniform · total`.
    """
    cdf = weights.cumsum(axis=1)
    total = cdf[:, -1]
    # Scaling by the total that the sum reached, and staying below it when the product rounds up,
    # leaves no uniform without a token; "exceeds" leaves no weightless token a uniform.
    threshold = np.minimum(uniforms * total, np.nextafter(total, 0))
    tokens: IntArray = (cdf > threshold[:, None]).argmax(axis=1)
    return tokens
