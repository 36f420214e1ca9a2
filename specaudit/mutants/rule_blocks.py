"""Faults of the accept rule in how a block is put together."""

from functools import partial

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.verify.rows import Rows
from specaudit.decoding.verify.verified import Verified, assemble
from specaudit.mutants.registry import register


class AcceptAfterMismatch(ChainVerifier):
    """A rejected draft is replaced, but does not end the block: later drafts that pass their own test are kept.

    They were judged as continuations of the rejected draft, not of its replacement. At temperature 0 too.

    Seen: a classic; the counters of vLLM V0 counted matches in this way.

    Killed by: LAW1, LAW3 (sampled).
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Keep everything up to the last draft that passes."""
        batch, width = draft.shape
        passed = self.accepted(draft, q, p, coins[:, :width]) & (np.arange(width) < num_draft[:, None])
        kept = _through_the_last(passed)
        # Above the ratio that it failed at, a coin is as good as new.
        ratio = p.entries(draft) / np.maximum(q.entries(draft), np.finfo(np.float64).tiny)
        block = draft.copy()
        for i in range(width):
            rows = np.flatnonzero(~passed[:, i] & (kept > i))
            fresh = np.zeros(batch)
            fresh[rows] = (coins[rows, i] - ratio[rows, i]) / (1 - ratio[rows, i])
            block[rows, i] = self.last_tokens(q, p, num_draft, np.where(kept > i, i, kept), fresh)[rows]
        return assemble(block, kept, self.last_tokens(q, p, num_draft, kept, coins[:, width]))


class GreedyAcceptAfterMismatch(GreedyVerifier):
    """`AcceptAfterMismatch` at temperature 0."""

    def __call__(self, draft: IntArray, target: IntArray, num_draft: IntArray, *, check: bool = True) -> Verified:
        """Keep everything up to the last match, with the target's tokens for what does not match."""
        batch, width = draft.shape
        kept = _through_the_last(self.accepted(draft, target) & (np.arange(width) < num_draft[:, None]))
        return assemble(target[:, :width], kept, target[np.arange(batch), kept])


def _through_the_last(passed: np.ndarray) -> IntArray:
    """Number of drafts up to the last that passes `[b]`, given which do `[b, K]`."""
    kept: IntArray = np.where(passed, np.arange(1, passed.shape[1] + 1), 0).max(axis=1, initial=0)
    return kept


class BlockVerifyWrongResidual(BlockVerifier):
    """Drafts are accepted by blocks, but a rejected one is replaced from the residual of token-wise verification.

    Seen: vllm-project/vllm-ascend issue 7807.

    Killed by: LAW1 (sampled).
    """

    def weighted(self, p: Rows, weights: FloatArray) -> Rows:
        """Forget how much of the target the run has used up."""
        return p


register(
    "accept-after-mismatch",
    family="rule",
    fault=AcceptAfterMismatch,
    build=partial(SpeculativeDecoder, verifier=AcceptAfterMismatch(), greedy_verifier=GreedyAcceptAfterMismatch()),
)
register(
    "block-verify-wrong-residual",
    family="rule",
    fault=BlockVerifyWrongResidual,
    build=partial(SpeculativeDecoder, verifier=BlockVerifyWrongResidual()),
)
