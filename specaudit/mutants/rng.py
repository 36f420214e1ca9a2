"""Faults of the random streams."""

from functools import partial

from specaudit.decoding.arrays import FloatArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.mutants.registry import register


class ReuseUniform(ChainVerifier):
    """One uniform serves for the accept tests of all positions of a step.

    A draft is then judged by a coin that is known to have been small enough for the drafts before it.

    Seen: a classic, the coin drawn outside the loop over positions.
    """

    def coins(self, rng: UniformSource, batch: int, width: int) -> FloatArray:
        """Spread the first coin over the drafts; the replacement keeps its own."""
        coins = super().coins(rng, batch, width)
        coins[:, :width] = coins[:, :1]
        return coins


register(
    "reuse-uniform",
    family="rng",
    fault=ReuseUniform,
    build=partial(SpeculativeDecoder, verifier=ReuseUniform()),
)
