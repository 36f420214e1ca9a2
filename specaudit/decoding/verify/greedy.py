"""Verification at temperature 0: a prefix match."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.verify.inputs import check_greedy
from specaudit.decoding.verify.verified import Verified, accepted_run, assemble


class GreedyVerifier:
    """Accepts drafts as long as they are what the target would have said, then lets the target speak.

    This is `ChainVerifier` with one-hot laws, without its coins.
    """

    def __call__(self, draft: IntArray, target: IntArray, num_draft: IntArray, *, check: bool = True) -> Verified:
        """Verify the drafts of a batch.

        Args:
            draft: drafted tokens `[B, K]`.
            target: the target's argmax at the drafts and behind the last one, `[B, K + 1]`.
            num_draft: number of drafts of each row `[B]`.
            check: whether to validate the inputs.

        Raises:
            ValueError: the inputs are contradictory; see `check_greedy`.
        """
        if check:
            check_greedy(draft, target, num_draft)
        n_accepted = accepted_run(self.accepted(draft, target), num_draft)
        return assemble(draft, n_accepted, target[np.arange(len(target)), n_accepted])

    def accepted(self, draft: IntArray, target: IntArray) -> BoolArray:
        """Judge each draft by itself, `[B, K]`."""
        return np.asarray(draft == target[:, :-1])
