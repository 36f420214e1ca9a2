"""Numeric slack: what a bet must be divided by if p is only known within a factor e^±η.

The null is the band of laws p̃ with p e^-η ≤ p̃ ≤ p e^η in every cell. Over the band the mean of a bet f ≥ 0 is largest
where as much mass as possible sits where f is large: p̃ = p e^η on a set A, p e^-η elsewhere. Total mass 1 makes
e^η m + e^-η (1 - m) = 1, so that A holds the largest f up to p-mass m = 1 / (1 + e^η), one cell of it perhaps in part
(a linear programme with a single constraint: the fractional knapsack), and

    M = e^-η E_p f + (e^η - e^-η) E_p[f; A].

f / M has mean at most 1 under every law of the band, and 1 under the worst: no larger bet is valid.
η is measured on processed probabilities; an error ζ of raw logits becomes 2ζ/T.
"""

from math import tanh

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]


def band(slack: float, edge: npt.NDArray[np.bool_] | None) -> _Array | float:
    """Half-width of the band about each law that is given that the token is no edge cell `[C]`, or of all of them.

    The mass of the edge cells may be off by a factor e^±η as well, and so may whatever is divided by the mass of the
    others: where there are edge cells the band is twice as wide.
    """
    return slack if edge is None else slack * np.where(edge.any(axis=1), 2.0, 1.0)


def largest_mean(bet: _Array, law: _Array, slack: _Array | float) -> _Array:
    """M, the largest mean of each bet over the band about its law, `[..., V]` and `[..., V]` (or `[V]`) to `[...]`.

    The half-width is one for all, or `[...]`. A constant plus a multiple of a bet has the same constant plus the same
    multiple of M, for a positive factor.
    """
    order = np.argsort(-bet, axis=-1)
    ranked = np.take_along_axis(bet, order, axis=-1)
    mass = np.take_along_axis(np.broadcast_to(law, bet.shape), order, axis=-1)
    before = np.cumsum(mass, axis=-1) - mass
    width = np.asarray(slack, dtype=np.float64)
    favoured = np.clip(1 / (1 + np.exp(width))[..., None] - before, 0, mass)
    even, extra = (mass * ranked).sum(axis=-1), (favoured * ranked).sum(axis=-1)
    means = np.exp(-width) * even + (np.exp(width) - np.exp(-width)) * extra
    return np.asarray(means)


def hidden_tv(slack: float) -> float:
    """Largest total variation per token that the band cannot tell from equality: tanh(η/2)."""
    return tanh(slack / 2)


def check_slack(slack: float, *, length: int, tolerance: float) -> None:
    """Refuse a plan whose band hides as much as it tolerates, over words of `length` tokens.

    Raises:
        ValueError: the slack is negative or not finite, or L tanh(η/2) ≥ tolerance.
    """
    if not 0 <= slack < float("inf"):
        raise ValueError(f"numeric slack must be finite and not negative, got {slack}")
    if (hidden := length * hidden_tv(slack)) >= tolerance:
        raise ValueError(
            f"a numeric slack of {slack:g} hides a total variation of {hidden:.2g} in words of {length} tokens, and "
            f"only {tolerance:g} is tolerated; measure the slack on an arm of higher precision, shorten the words, or "
            "raise the tolerance"
        )
