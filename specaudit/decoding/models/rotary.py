"""Rotary position embedding.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
"""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray


def rotations(positions: IntArray, width: int, base: float) -> tuple[FloatArray, FloatArray]:
    """Return cosine and sine of `position · base^(−2i/W)` for each pair of components.

    Args:
        positions: absolute position of each token `[b, T]`.
        width: of a head `W`, even.
        base: wavelength dial; 10,000 in the paper.

    Returns:
        `[b, T, 1, W / 2]` both.
    """
    frequencies = base ** (-2 * np.arange(width // 2) / width)
    angles = positions[..., None, None] * frequencies
    return np.cos(angles), np.sin(angles)


def rotate(heads: FloatArray, cosine: FloatArray, sine: FloatArray) -> FloatArray:
    """Turn each pair of components of queries or keys `[b, T, N, W]`: scores then depend on distances alone.

    The pairs are those of Hugging Face's Llama: a component of the first half with its counterpart in the second.
    """
    first, second = np.split(heads, 2, axis=-1)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
