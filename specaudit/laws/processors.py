"""What the sampling filters make of a law: temperature, then top-k, then top-p.

A second implementation on purpose: the decoder has its own, and a fault that both shared would hide itself. This
one works on one law at a time, by sorting once.
"""

import numpy as np
from numpy.typing import NDArray

from specaudit.model.request import Sampling

Array = NDArray[np.float64]

EDGE = 1e-9
"""A nucleus is full when it is short of its mass by less: sums differ in their last bits with the order of adding."""


def processed(logprobs: Array, sampling: Sampling) -> Array:
    """Return the law that tokens are drawn from.

    Args:
        logprobs: [V] natural logarithms of the raw law, up to a constant; minus infinity is allowed.
        sampling: The filters.

    Returns:
        [V] probabilities that sum to 1. Ties are broken by the lower index, as stable sorting does.
    """
    if sampling.temperature == 0:
        law = np.zeros_like(logprobs)
        law[np.argmax(logprobs)] = 1.0
        return law
    order = np.argsort(-logprobs, kind="stable")
    scaled = logprobs[order] / sampling.temperature
    ranked = np.exp(scaled - scaled[0])
    if sampling.top_k:
        ranked[sampling.top_k :] = 0.0
    ranked /= ranked.sum()
    if sampling.top_p < 1.0:
        mass_before = np.cumsum(ranked) - ranked
        ranked[mass_before >= sampling.top_p - EDGE] = 0.0
        ranked /= ranked.sum()
    law = np.empty_like(ranked)
    law[order] = ranked
    return law
