"""Block verification: drafts are judged together, so that a bad one need not end a block that is good on the whole."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.rows import Rows, ScaledRows, in_turns
from specaudit.decoding.verify.verified import Verified, assemble


class BlockVerifier(ChainVerifier):
    """Accepts the longest run of drafts whose own coin allows it; exact, and never shorter on average than a chain.

    The run of `i` drafts has the weight `w_i = min(1, w_{i−1} · p_i(x_i) / q_i(x_i))`, `w_0 = 1`. Its coin accepts it
    with probability `s / (s + 1 − w_i)`, `s = Σ max(0, w_i · p_{i+1} − q_{i+1})`; the whole block with `w_K`. Behind a
    run that is cut short, a token of `norm(max(0, w_i · p_{i+1} − q_{i+1}))` follows.

    Source: Sun et al., "Block verification accelerates speculative decoding", ICLR 2025 (arXiv:2403.10444),
    algorithm 2 and Theorem 1.
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Verify a stretch of the batch, given its coins `[b, K + 1]`; beyond `num_draft`, `draft` is −1."""
        width = draft.shape[1]
        weights = self.run_weights(draft, q, p)
        accepted = coins[:, :width] < self.run_acceptance(q, p, num_draft, weights)
        n_accepted = _longest(accepted, num_draft)
        tokens = self.last_tokens(q, self.weighted(p, weights), num_draft, n_accepted, coins[:, width])
        return assemble(draft, n_accepted, tokens)

    def run_weights(self, draft: IntArray, q: Rows, p: Rows) -> FloatArray:
        """Weigh the runs of 0 to K drafts, `[b, K + 1]`."""
        drawn_from, judged_by = q.entries(draft), p.entries(draft)
        weights = np.ones((len(draft), draft.shape[1] + 1))
        for i in range(draft.shape[1]):
            reached = weights[:, i] * judged_by[:, i]
            np.divide(reached, drawn_from[:, i], out=weights[:, i + 1], where=reached < drawn_from[:, i])
        return weights

    def run_acceptance(self, q: Rows, p: Rows, num_draft: IntArray, weights: FloatArray) -> FloatArray:
        """Probability that its coin accepts the run of 1 to K drafts, given that no longer one is, `[b, K]`."""
        acceptance = weights[:, 1:].copy()
        for i in range(1, acceptance.shape[1]):
            for rows in in_turns(np.flatnonzero(num_draft > i), p.shape[2]):
                places, weight = np.full(len(rows), i), weights[rows, i]
                left = self.residual(ScaledRows(p, weights).at(rows, places), q.at(rows, places)).sum(axis=1)
                # Where both are 0, drafter and target agree from here on, and a longer run is accepted for certain.
                rest = left + 1 - weight
                acceptance[rows, i - 1] = np.divide(left, rest, out=np.ones(len(rows)), where=rest > 0)
        return acceptance

    def weighted(self, p: Rows, weights: FloatArray) -> Rows:
        """Weigh the target's laws, before the drafter's are taken from them."""
        return ScaledRows(p, weights)


def _longest(accepted: BoolArray, num_draft: IntArray) -> IntArray:
    """Count the drafts of the longest accepted run, `[b]`, given which runs of 1 to K are `[b, K]`."""
    lengths = np.arange(1, accepted.shape[1] + 1)
    allowed = accepted & (lengths <= num_draft[:, None])
    longest: IntArray = np.where(allowed, lengths, 0).max(axis=1, initial=0)
    return longest
