"""Speculative sampling of a chain of drafts, for a batch with ragged draft lengths."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.verify.inputs import check_inputs, read_laws
from specaudit.decoding.verify.rows import Laws, Rows, in_turns, stretches
from specaudit.decoding.verify.verified import Verified, accepted_run, assemble


class ChainVerifier:
    """The verifier whose output has the target's law, whatever the drafter's.

    Draft `x_i ~ q_i` is accepted while `u_i · q_i(x_i) < p_i(x_i)`. The first rejection is replaced by a
    draw of `norm(max(0, p_i − q_i))`; if all drafts survive, the bonus token is drawn from the target's
    law at the next position. Each step is a method, so that a fault is a subclass that overrides one.

    The batch is worked off in stretches, of `b` rows while drafts are judged, of fewer while whole laws are read.

    Source: Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding",
    ICML 2023, appendix A.1; Chen et al., arXiv:2302.01318, Theorem 1.
    """

    def __call__(
        self, draft: IntArray, q: Laws, p: Laws, num_draft: IntArray, rng: UniformSource, *, check: bool = True
    ) -> Verified:
        """Verify the drafts of a batch.

        Args:
            draft: drafted tokens `[B, K]`; beyond `num_draft` any token or −1.
            q: the laws that the drafts were drawn from, `[B, K, V]`; an array, a view, or a function of places.
            p: the target's laws at the drafts and behind the last one, `[B, K + 1, V]`; likewise.
            num_draft: number of drafts of each row, `[B]`, 0 to K.
            rng: asked once for `[B, K + 1]` uniforms.
            check: whether to validate the inputs, which reads all laws. Otherwise only the drafts' entries are
                read, and the laws that last tokens are drawn from.

        Raises:
            ValueError: the inputs are contradictory; see `check_inputs`.
        """
        q_rows, p_rows = read_laws(draft, q, p, num_draft)
        batch, width = draft.shape
        if check:
            check_inputs(draft, q_rows, p_rows, num_draft)
        if (num_draft < width).any():
            draft = np.where(np.arange(width) < num_draft[:, None], draft, -1)
        coins = self.coins(rng, batch, width)
        verified = Verified.empty(batch, width)
        for rows in stretches(batch, width + 1):
            part = draft[rows], q_rows.part(rows), p_rows.part(rows), num_draft[rows], coins[rows]
            verified.put(rows, self.verify(*part))
        return verified

    def coins(self, rng: UniformSource, batch: int, width: int) -> FloatArray:
        """Draw `[B, K + 1]` uniforms: one per draft, the last for the replacement or bonus token."""
        return rng.random((batch, width + 1))

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Verify a stretch of the batch, given its coins `[b, K + 1]`; beyond `num_draft`, `draft` is −1."""
        width = draft.shape[1]
        n_accepted = accepted_run(self.accepted(draft, q, p, coins[:, :width]), num_draft)
        tokens = self.last_tokens(q, p, num_draft, n_accepted, coins[:, width])
        return assemble(draft, n_accepted, tokens)

    def accepted(self, draft: IntArray, q: Rows, p: Rows, coins: FloatArray) -> BoolArray:
        """Judge each draft by itself, `[b, K]`.

        The comparison is strict: a coin may be 0, and a token with p = 0 must not pass even then.
        """
        return np.asarray(coins * q.entries(draft) < p.entries(draft))

    def last_tokens(
        self, q: Rows, p: Rows, num_draft: IntArray, n_accepted: IntArray, uniforms: FloatArray
    ) -> IntArray:
        """Draw what follows the accepted drafts, `[b]`: the replacement of a rejected one, or the bonus token."""
        tokens = np.empty(len(num_draft), dtype=np.int64)
        rejected = n_accepted < num_draft
        for rows in in_turns(np.flatnonzero(rejected), p.shape[2]):
            positions = n_accepted[rows]
            drawn = inverse_cdf(self.replacement(q, p, rows, positions), uniforms[rows])
            # Equal laws reject nothing. Where rounding rejects all the same, no residual is left to draw from, and
            # the target itself replaces it.
            lost = np.flatnonzero(drawn < 0)
            if lost.size:
                drawn[lost] = inverse_cdf(p.at(rows[lost], positions[lost]), uniforms[rows[lost]])
            tokens[rows] = drawn
        for rows in in_turns(np.flatnonzero(~rejected), p.shape[2]):
            tokens[rows] = inverse_cdf(self.bonus(p, rows, n_accepted[rows]), uniforms[rows])
        return tokens

    def replacement(self, q: Rows, p: Rows, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws of the tokens that replace the drafts rejected at those places, up to a factor, `[r, V]`."""
        return self.residual(p.at(rows, positions), q.at(rows, positions))

    def bonus(self, p: Rows, rows: IntArray, positions: IntArray) -> FloatArray:
        """Laws of the tokens behind a last accepted draft, up to a factor, `[s, V]`."""
        return p.at(rows, positions)

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Take from the target's laws what the drafter's have offered already, `[r, V]`, up to a factor."""
        left = np.subtract(p, q)
        return np.maximum(left, 0, out=left)
