"""Faults of the accept rule in how it uses draws of the target."""

from functools import partial

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.rows import Rows
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier
from specaudit.decoding.verify.verified import Verified, accepted_run, assemble
from specaudit.mutants.registry import register


class MatchThenP(SamplerMatchVerifier):
    """A draft is accepted where it equals a draw of the target; where it does not, the target is drawn from anew.

    The draw that failed to match is known not to be the draft, and is thrown away.

    Seen: a classic, equality as the accept test of a rejection sampler.

    Killed by: LAW1, LAW3 (sampled).
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Draw again, with the last coin, where a draft was refused."""
        verified = super().verify(draft, q, p, num_draft, coins)
        refused = np.flatnonzero(verified.n_accepted < num_draft)
        place = verified.n_accepted[refused]
        verified.out[refused, place] = inverse_cdf(p.at(refused, place), coins[refused, -1])
        return verified


class InvertedRatio(ChainVerifier):
    """The target draws y; draft x is accepted while r ≤ q(x) / p(y), r from a grid of 101 values, or else y is emitted.

    The ratio is upside down, and compares two different tokens.

    Seen: openvinotoolkit/openvino.genai, measured in a release.

    Killed by: LAW1, LAW3 (sampled).
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Draw a token of the target at every position, and use what its coin leaves over as r."""
        batch, width = draft.shape
        drawn, chance, left = self.draws(p, num_draft, coins)
        grid = np.floor(left[:, :width] * 101) / 100
        n_accepted = accepted_run(grid * chance[:, :width] <= q.entries(draft), num_draft)
        return assemble(draft, n_accepted, drawn[np.arange(batch), n_accepted])

    def draws(self, p: Rows, num_draft: IntArray, coins: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Draw from the target everywhere: tokens, their probabilities, and uniforms that are left, `[b, K + 1]`."""
        drawn, chance, left = np.zeros(coins.shape, dtype=np.int64), np.ones(coins.shape), np.zeros(coins.shape)
        for i in range(coins.shape[1]):
            rows = np.flatnonzero(num_draft >= i)
            law = p.at(rows, np.full(len(rows), i))
            place = np.arange(len(rows)), inverse_cdf(law, coins[rows, i])
            drawn[rows, i], chance[rows, i] = place[1], law[place]
            left[rows, i] = 1 - (law.cumsum(axis=1)[place] - coins[rows, i]) / law[place]
        return drawn, chance, left.clip(0, np.nextafter(1, 0))


register(
    "match-then-p",
    family="rule",
    fault=MatchThenP,
    build=partial(SpeculativeDecoder, verifier=MatchThenP()),
)
register(
    "inverted-ratio",
    family="rule",
    fault=InvertedRatio,
    build=partial(SpeculativeDecoder, verifier=InvertedRatio()),
)
