"""Faults of batches in which rows draft different numbers of tokens."""

from dataclasses import replace

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.verify.verified import Verified
from specaudit.mutants.registry import register


def ragged(count: IntArray) -> IntArray:
    """Rows that draft, but less than others do."""
    return np.flatnonzero((count > 0) & (count < count.max(initial=0)))


class QRowMisaligned(SpeculativeDecoder):
    """Where more than two rows draft less than the others, each of them is judged by the next one's q.

    Seen: a class of flattened batches, in which the offset of a row is the sum of the lengths before it.

    Killed by: LAW1, SED2 (sampled).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Shift the laws of the short rows."""
        rows = ragged(drafts.count)
        if len(rows) > 2:
            q = drafts.q.copy()
            q[rows] = drafts.q[np.roll(rows, 1)]
            drafts = replace(drafts, q=q)
        return super().verify(block, drafts, p, coins)


class BatchRowPermuted(SpeculativeDecoder):
    """Rows that draft less than the others, but as much as each other, get each other's tokens.

    Seen: vllm-project/vllm issue 14645.

    Killed by: LAW1, SED2 (sampled).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Pass the outcomes on among the short rows."""
        verified = super().verify(block, drafts, p, coins)
        source = np.arange(len(block))
        for length in np.unique(drafts.count[ragged(drafts.count)]):
            rows = np.flatnonzero(drafts.count == length)
            source[rows] = np.roll(rows, 1)
        return replace(
            verified,
            out=verified.out[source],
            n_out=verified.n_out[source],
            n_accepted=verified.n_accepted[source],
        )


register("q-row-misaligned", family="batch", fault=QRowMisaligned, build=QRowMisaligned)
register("batch-row-permuted", family="batch", fault=BatchRowPermuted, build=BatchRowPermuted)
