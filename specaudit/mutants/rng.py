"""Faults of the random streams."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.arrays import FloatArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.streams import Domain, RowStreams, UniformSource
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import World
from specaudit.mutants.controls import SamplerMatch
from specaudit.mutants.registry import register


class ReuseUniform(ChainVerifier):
    """One uniform serves for the accept tests of all positions of a step.

    A draft is then judged by a coin that is known to have been small enough for the drafts before it.

    Seen: a classic, the coin drawn outside the loop over positions.

    Killed by: LAW1 (sampled).
    """

    def coins(self, rng: UniformSource, batch: int, width: int) -> FloatArray:
        """Spread the first coin over the drafts; the replacement keeps its own."""
        coins = super().coins(rng, batch, width)
        coins[:, :width] = coins[:, :1]
        return coins


class SharedStream(SpeculativeDecoder):
    """Drafter and verifier are seeded alike, so that a draft and the coin that judges it are one number.

    Each law is right by itself; but a draft that a small number drew is then judged by that small number.

    Seen: OpenVINO GenAI, where it moves the law of the textbook rule by TV .23.

    Killed by: LAW1 (sampled).
    """

    def streams(self, seeds: NDArray[np.integer], domain: Domain) -> RowStreams:
        """Give the verifier the drafter's stream."""
        return super().streams(seeds, Domain.DRAFTER)


class SeedIgnored(SpeculativeDecoder):
    """The request's seed has no effect: the streams are numbered in the order in which requests come.

    Seen: sgl-project/sglang issue 30822; vllm-project/vllm issue 6038.

    Killed by: SED1 (sampled).
    """

    def __init__(self, world: World, **options: Any) -> None:
        super().__init__(world, **options)
        self._given = dict.fromkeys(Domain, 0)

    def streams(self, seeds: NDArray[np.integer], domain: Domain) -> RowStreams:
        """Take the next numbers."""
        first = self._given[domain]
        self._given[domain] += len(seeds)
        return super().streams(np.arange(first, first + len(seeds)), domain)


class SeedDependsOnBatch(SpeculativeDecoder):
    """All rows of a batch are judged by numbers of the first row's stream, so that neighbours decide which they are.

    The law of every request is right.

    Seen: sgl-project/sglang issue 33395.

    Killed by: SED2 (sampled).
    """

    def coins(self, streams: RowStreams, block: Block) -> FloatArray:
        """Let the first row's stream serve all."""
        first = streams.rows(slice(1))
        own = super().coins(streams, block)
        return first.random((1, own.size)).reshape(own.shape) if len(block) else own


class BonusCoinReused(SamplerMatch):
    """A coupled engine draws the bonus token with the number that drew the draft before it.

    All others are drawn with the number of their position, as in plain decoding.

    Seen: a class of counter-based samplers that number the rows of a step by its drafts, of which the bonus row has
    none.

    Killed by: SED3 (sampled).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Let the bonus row have the number of the row before."""
        drafted = np.flatnonzero(drafts.count)
        coins = coins.copy()
        coins[drafted, drafts.count[drafted]] = coins[drafted, drafts.count[drafted] - 1]
        return super().verify(block, drafts, p, coins)


class MatchThenRedraw(SamplerMatch):
    """A coupled engine accepts drafts that equal the target's draw, and draws anew where one does not.

    The draw that rejected the draft is thrown away, so that neither the tokens nor the law are those of the target.

    Seen: a class of faults that sample once more from the target, where the token that was drawn is to be emitted.

    Killed by: LAW1 (sampled).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Replace the tokens that rejected a draft; temperature 0 draws nothing."""
        verified = super().verify(block, drafts, p, coins)
        rows = np.flatnonzero((verified.n_accepted < drafts.count) & ~self.greedy_rows(block))
        at = verified.n_accepted[rows]
        out = verified.out.copy()
        out[rows, at] = inverse_cdf(p[rows, at], (coins[rows, at] + 0.5) % 1)
        return replace(verified, out=out)


register("bonus-coin-reused", family="rng", fault=BonusCoinReused, build=BonusCoinReused)
register("match-then-redraw", family="rng", fault=MatchThenRedraw, build=MatchThenRedraw)
register("seed-ignored", family="rng", fault=SeedIgnored, build=SeedIgnored)
register("seed-depends-on-batch", family="rng", fault=SeedDependsOnBatch, build=SeedDependsOnBatch)
register(
    "reuse-uniform",
    family="rng",
    fault=ReuseUniform,
    build=partial(SpeculativeDecoder, verifier=ReuseUniform()),
)
register("shared-stream", family="rng", fault=SharedStream, build=SharedStream)
