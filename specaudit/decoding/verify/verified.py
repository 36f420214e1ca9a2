"""What every verifier hands back."""

from dataclasses import dataclass

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


def accepted_run(accepted: BoolArray, num_draft: IntArray) -> IntArray:
    """Count the drafts before the first rejection, `[B]`; later matches do not count.

    Args:
        accepted: accept mask `[B, K]`.
        num_draft: number of drafts of each row `[B]`; the run ends there.
    """
    batch, width = accepted.shape
    # The closing column is a rejection, so that the first one is where the run ends, always.
    run = np.zeros((batch, width + 1), dtype=np.bool_)
    np.logical_and(accepted, np.arange(width) < num_draft[:, None], out=run[:, :width])
    length: IntArray = run.argmin(axis=1)
    return length


def assemble(draft: IntArray, n_accepted: IntArray, token: IntArray) -> Verified:
    """Emit the first `n_accepted` of the drafts `[B, K]`, then `token` `[B]`."""
    batch, width = draft.shape
    out = np.full((batch, width + 1), -1)
    np.copyto(out[:, :width], draft, where=np.arange(width) < n_accepted[:, None])
    out[np.arange(batch), n_accepted] = token
    return Verified(out=out, n_out=n_accepted + 1, n_accepted=n_accepted)
