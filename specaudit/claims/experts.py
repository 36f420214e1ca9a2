"""How many experts a batch of tokens touches: each must be read from memory, however few of its tokens use it."""

import numpy as np
from numpy.typing import ArrayLike

from specaudit.claims.architecture import Architecture, Experts
from specaudit.claims.tokens import Floats


def touched(experts: Experts, tokens: ArrayLike, *, shared_choice: float = 0.0) -> Floats:
    """Return the routed experts of a layer that are touched in the mean by so many tokens.

    Tokens choose independently of each other and every expert alike: n (1 − (1 − a/n)ᵗ). Real routers are skewed, and
    tokens of one text choose alike; `shared_choice` of the tokens behind the first choose what it chose.

    Args:
        experts: how many there are, and how many a token is sent to.
        tokens: tokens of a step, over the whole batch; any shape.
        shared_choice: share of the further tokens that touch no expert of their own, 0 to 1.
    """
    own = 1 + np.maximum(np.asarray(tokens, dtype=np.float64) - 1, 0) * (1 - shared_choice)
    return np.asarray(experts.routed * (1 - (1 - experts.active / experts.routed) ** own))


def weights_read(model: Architecture, tokens: ArrayLike, *, shared_choice: float = 0.0) -> Floats:
    """Return the weights that a step of so many tokens reads: all of them, but of the experts only those touched."""
    if model.experts is None:
        return np.full_like(np.asarray(tokens, dtype=np.float64), model.parameters)
    always = model.active - model.routed_active
    return always + model.moe_layers * model.expert * touched(model.experts, tokens, shared_choice=shared_choice)
