"""Faults of the accept rule."""

from functools import partial

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.mutants.registry import register


class ResidualFromTarget(ChainVerifier):
    """On a rejection, the replacement is drawn from the target's law instead of the residual.

    Seen: a classic of first implementations; reported in SafeAILab/EAGLE issue 329.
    """

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Forget what the drafter has offered already."""
        return p


class Draft0Unverified(ChainVerifier):
    """The first draft of every step is committed without a test, at temperature 0 too.

    Seen: ohdearquant/lattice issue 243, where the comparison with the target was shifted by one position.
    """

    def accepted(self, draft: IntArray, q: FloatArray, p: FloatArray, coins: FloatArray) -> BoolArray:
        """Wave the first draft through."""
        return _first_waved_through(super().accepted(draft, q, p, coins))


class GreedyDraft0Unverified(GreedyVerifier):
    """`Draft0Unverified` at temperature 0."""

    def accepted(self, draft: IntArray, target: IntArray) -> BoolArray:
        """Wave the first draft through."""
        return _first_waved_through(super().accepted(draft, target))


def _first_waved_through(accepted: BoolArray) -> BoolArray:
    accepted[:, :1] = True
    return accepted


register(
    "resid-from-target",
    family="rule",
    fault=ResidualFromTarget,
    build=partial(SpeculativeDecoder, verifier=ResidualFromTarget()),
)
register(
    "draft0-unverified",
    family="rule",
    fault=Draft0Unverified,
    build=partial(SpeculativeDecoder, verifier=Draft0Unverified(), greedy_verifier=GreedyDraft0Unverified()),
)
