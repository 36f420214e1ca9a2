"""What every verifier hands back."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The outcome of one verification step for a batch.

    Attributes:
        out: emitted tokens `[B, K + 1]`: the accepted drafts, then one token of the target; padded with −1.
        n_out: number of emitted tokens `[B]`.
        n_accepted: number of accepted drafts `[B]`.
    """

    out: IntArray
    n_out: IntArray
    n_accepted: IntArray

    @classmethod
    def empty(cls, batch: int, width: int) -> Self:
        """Make room for the outcome of a batch of `width` drafts each."""
        room = np.empty((batch, width + 1), dtype=np.int64)
        return cls(out=room, n_out=np.empty(batch, dtype=np.int64), n_accepted=np.empty(batch, dtype=np.int64))

    def put(self, rows: slice, part: "Verified") -> None:
        """Fill in the outcome of some rows."""
        self.out[rows], self.n_out[rows], self.n_accepted[rows] = part.out, part.n_out, part.n_accepted


def accepted_run(accepted: BoolArray, num_draft: IntArray) -> IntArray:
    """Count the drafts before the first rejection, `[B]`; later matches do not count.

    Args:
        accepted: accept mask `[B, K]`.
        num_draft: number of drafts of each row `[B]`; the run ends there.
    """
    running = accepted.T.copy()
    for i in range(1, len(running)):
        running[i] &= running[i - 1]
    length = running.sum(axis=0, dtype=np.min_scalar_type(len(running)))
    return np.asarray(np.minimum(length, num_draft), dtype=np.int64)


def assemble(draft: IntArray, n_accepted: IntArray, token: IntArray) -> Verified:
    """Emit the first `n_accepted` of the drafts `[B, K]`, then `token` `[B]`."""
    batch, width = draft.shape
    out = np.empty((batch, width + 1), dtype=np.int64)
    for i in range(width):
        out[:, i] = draft[:, i]
    # Row n of the triangle says which places n accepted drafts leave empty.
    np.putmask(out, ~np.tri(width + 1, k=-1, dtype=np.bool_).take(n_accepted, axis=0), -1)
    out.reshape(-1)[np.arange(0, out.size, width + 1) + n_accepted] = token
    return Verified(out=out, n_out=n_accepted + 1, n_accepted=n_accepted)
