"""Tokens as points of the target's law, which are uniform and independent whatever the contexts are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.tokens import KnownTokens


@dataclass(frozen=True, kw_only=True)
class Points:
    """Tokens of one part of a plan, each as the point F(x-) + u p(x) of the law in its context.

    Most likely tokens come first and u is uniform (Rosenblatt 1952): under the target's law the points are uniform and
    independent, so that they can be pooled over contexts.
    """

    at: NDArray[np.float64]
    """In [0, 1) `[N]`; that of an impossible token says nothing."""
    impossible: NDArray[np.bool_]
    """Tokens that the law excludes `[N]`."""
    hidden: NDArray[np.float64]
    """What tokens at the edge of the filters can hide of the total variation in each token's context `[N]`."""


def points_of(known: KnownTokens) -> Points:
    """Return the points of tokens with known laws."""
    p = known.laws.table.p
    context, cell = known.completions.context, known.completions.cell
    before = np.cumsum(p, axis=1) - p
    mass = p[context, cell]
    # A cell of probability 0 begins where the law has ended, up to rounding.
    return Points(
        at=np.minimum(before[context, cell] + known.completions.uniform * mass, np.nextafter(1, 0)),
        impossible=mass == 0,
        hidden=known.laws.hidden()[context],
    )
