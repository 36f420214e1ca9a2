"""Faults of the accept rule: which drafts are kept, and what replaces the first that is not."""

from functools import partial
from typing import Any

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.verify.rows import Rows
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import World
from specaudit.mutants.registry import Dose, register


class ResidualFromTarget(ChainVerifier):
    """On a rejection, the replacement is drawn from the target's law instead of the residual.

    Seen: a classic of first implementations; reported in SafeAILab/EAGLE issue 329.

    Killed by: LAW1, LAW3 (sampled).
    """

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Forget what the drafter has offered already."""
        return p


class AbsoluteResidual(ChainVerifier):
    """On a rejection, the replacement is drawn from |p − q|: tokens that the drafter overrates come back.

    Seen: a classic, the residual without its positive part.

    Killed by: LAW1, LAW3 (sampled).
    """

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Keep what is negative, with the wrong sign."""
        return np.abs(p - q)


class ResampleNextRow(ChainVerifier):
    """On a rejection, the replacement is drawn from the target's law one position further on.

    Seen: openvinotoolkit/openvino.genai issue 4190, measured in a release.

    Killed by: LAW1, LAW3 (sampled).
    """

    def replacement(self, q: Rows, p: Rows, rows: IntArray, positions: IntArray) -> FloatArray:
        """Read the row behind the rejected draft."""
        return p.at(rows, positions + 1)


class Lenience(ChainVerifier):
    """A draft is accepted while u < p / (ℓ · q), with a lenience ℓ below 1 that lets more drafts pass.

    Seen: relaxed acceptance, offered by engines as a trade of exactness for speed.

    Killed by: LAW1, LAW3 (sampled).

    Args:
        dose: the lenience ℓ; 1 is exact.
    """

    def __init__(self, dose: float) -> None:
        self.dose = dose

    def accepted(self, draft: IntArray, q: Rows, p: Rows, coins: FloatArray) -> BoolArray:
        """Judge by a smaller coin."""
        return super().accepted(draft, q, p, coins * self.dose)


class AcceptRawP(ChainVerifier):
    """A draft is accepted while u < p, not p / q.

    Seen: a classic of first implementations.

    Killed by: LAW1, LAW3 (sampled).
    """

    def accepted(self, draft: IntArray, q: Rows, p: Rows, coins: FloatArray) -> BoolArray:
        """Forget how likely the drafter was to propose the draft."""
        return np.asarray(coins < p.entries(draft))


class AcceptLeqZeroCoin(ChainVerifier):
    """The accept test is inclusive, with a coin of eight bits that can be 0: then p(x) = 0 is accepted too.

    Seen: sgl-project/sglang issue 35771.

    Killed by: LAW1 (sampled).
    """

    def accepted(self, draft: IntArray, q: Rows, p: Rows, coins: FloatArray) -> BoolArray:
        """Compare inclusively, with a coin from a grid."""
        return np.asarray(np.floor(coins * 256) / 256 * q.entries(draft) <= p.entries(draft))


class Draft0Unverified(ChainVerifier):
    """The first draft of every step is committed without a test, at temperature 0 too.

    Seen: ohdearquant/lattice issue 243, where the comparison with the target was shifted by one position.

    Killed by: LAW1, LAW3 (sampled).
    """

    def accepted(self, draft: IntArray, q: Rows, p: Rows, coins: FloatArray) -> BoolArray:
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


class NoBonus(ChainVerifier):
    """After a fully accepted draft no token of the target follows: the law is right, and a step emits fewer tokens.

    Seen: a classic; it costs speed, not exactness.

    Killed by: CTR2 (text).
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Take the bonus token back."""
        return _without_bonus(super().verify(draft, q, p, num_draft, coins), num_draft)


class GreedyNoBonus(GreedyVerifier):
    """`NoBonus` at temperature 0."""

    def __call__(self, draft: IntArray, target: IntArray, num_draft: IntArray, *, check: bool = True) -> Verified:
        """Take the bonus token back."""
        return _without_bonus(super().__call__(draft, target, num_draft, check=check), num_draft)


def _without_bonus(verified: Verified, num_draft: IntArray) -> Verified:
    """Where nothing was drafted, the target's token is no bonus, and stays."""
    full = np.flatnonzero((verified.n_accepted == num_draft) & (num_draft > 0))
    verified.out[full, num_draft[full]] = -1
    verified.n_out[full] -= 1
    return verified


def _lenient(world: World, *, dose: float, **options: Any) -> SpeculativeDecoder:
    return SpeculativeDecoder(world, verifier=Lenience(dose), **options)


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
register(
    "resid-abs",
    family="rule",
    fault=AbsoluteResidual,
    build=partial(SpeculativeDecoder, verifier=AbsoluteResidual()),
)
register(
    "resample-next-row",
    family="rule",
    fault=ResampleNextRow,
    build=partial(SpeculativeDecoder, verifier=ResampleNextRow()),
)
register(
    "lenience",
    family="rule",
    fault=Lenience,
    build=_lenient,
    dose=Dose(default=0.8, low=0.01, high=1),
)
register(
    "accept-raw-p",
    family="rule",
    fault=AcceptRawP,
    build=partial(SpeculativeDecoder, verifier=AcceptRawP()),
)
register(
    "accept-leq-zero-coin",
    family="rule",
    fault=AcceptLeqZeroCoin,
    build=partial(SpeculativeDecoder, verifier=AcceptLeqZeroCoin()),
)
register(
    "no-bonus",
    family="rule",
    fault=NoBonus,
    build=partial(SpeculativeDecoder, verifier=NoBonus(), greedy_verifier=GreedyNoBonus()),
)
