"""Speculative sampling of a chain of drafts, for a batch with ragged draft lengths."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.verify.inputs import check_inputs
from specaudit.decoding.verify.verified import Verified, accepted_run, assemble


class ChainVerifier:
    """The verifier whose output has the target's law, whatever the drafter's.

    Draft `x_i ~ q_i` is accepted while `u_i · q_i(x_i) < p_i(x_i)`. The first rejection is replaced by a
    draw of `norm(max(0, p_i − q_i))`; if all drafts survive, the bonus token is drawn from the target's
    law at the next position. Each step is a method, so that a fault is a subclass that overrides one.

    Source: Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding",
    ICML 2023, appendix A.1; Chen et al., arXiv:2302.01318, Theorem 1.
    """

    def __call__(
        self,
        draft: IntArray,
        q: FloatArray,
        p: FloatArray,
        num_draft: IntArray,
        rng: UniformSource,
        *,
        check: bool = True,
    ) -> Verified:
        """Verify the drafts of a batch.

        Args:
            draft: drafted tokens `[B, K]`; beyond `num_draft` any token or −1.
            q: the laws that the drafts were drawn from, `[B, K, V]`.
            p: the target's laws at the drafts and behind the last one, `[B, K + 1, V]`.
            num_draft: number of drafts of each row, `[B]`, 0 to K.
            rng: asked once for `[B, K + 1]` uniforms.
            check: whether to validate the inputs.

        Raises:
            ValueError: the inputs are contradictory; see `check_inputs`.
        """
        if check:
            check_inputs(draft, q, p, num_draft)
        batch, width = draft.shape
        coins = self.coins(rng, batch, width)
        accepted = self.accepted(draft, q, p, coins[:, :width])
        n_accepted = accepted_run(accepted, num_draft)
        weights = self.final_weights(q, p, num_draft, n_accepted)
        return assemble(draft, n_accepted, inverse_cdf(weights, coins[:, width]))

    def coins(self, rng: UniformSource, batch: int, width: int) -> FloatArray:
        """Draw `[B, K + 1]` uniforms: one per draft, the last for the replacement or bonus token."""
        return rng.random((batch, width + 1))

    def accepted(self, draft: IntArray, q: FloatArray, p: FloatArray, coins: FloatArray) -> BoolArray:
        """Judge each draft by itself, `[B, K]`.

        The comparison is strict: a coin may be 0, and a token with p = 0 must not pass even then.
        """
        batch, width = draft.shape
        entry = (np.arange(batch)[:, None], np.arange(width), draft)
        return np.asarray(coins * q[entry] < p[entry])

    def final_weights(self, q: FloatArray, p: FloatArray, num_draft: IntArray, n_accepted: IntArray) -> FloatArray:
        """Collect the one law per row that its last token is drawn from, up to a factor, `[B, V]`."""
        weights = p[np.arange(len(p)), n_accepted]
        rejected = np.flatnonzero(n_accepted < num_draft)
        weights[rejected] = self.residual(weights[rejected], q[rejected, n_accepted[rejected]])
        return weights

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Take from the target's laws what the drafter's have offered already, `[R, V]`, up to a factor.

        Equal laws reject nothing; where rounding rejects all the same, nothing remains but `p` itself.
        """
        left = np.maximum(p - q, 0)
        return np.where(left.any(axis=1, keepdims=True), left, p)
