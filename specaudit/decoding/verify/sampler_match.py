"""Verification by the target's own sampler: it draws as always, and drafts save time where they guessed the draw."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.rows import Rows, in_turns
from specaudit.decoding.verify.verified import Verified


class SamplerMatchVerifier(OneHotVerifier):
    """Emits draws of the target, accepting a draft where it equals the draw; `q` is not looked at.

    Each position has a coin of its own, so that with the same coins the tokens are those of plain decoding.
    """

    def verify(self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray) -> Verified:
        """Verify a stretch of the batch, given one coin per position `[b, K + 1]`."""
        batch, width = draft.shape
        out = np.full((batch, width + 1), -1)
        # Undrafted places hold −1, which no draw equals.
        guesses = np.column_stack([draft, np.full(batch, -1)])
        n_accepted = np.zeros(batch, dtype=np.int64)
        running = np.arange(batch)
        for i in range(width + 1):
            for rows in in_turns(running, p.shape[2]):
                out[rows, i] = inverse_cdf(p.at(rows, np.full(len(rows), i)), coins[rows, i])
            running = running[out[running, i] == guesses[running, i]]
            n_accepted[running] += 1
        return Verified(out=out, n_out=n_accepted + 1, n_accepted=n_accepted)
