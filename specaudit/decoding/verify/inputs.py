"""Refusing a verification step whose inputs contradict each other."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray

# Wide enough for a row of float32 that was normalised in float32.
_TOLERANCE = 1e-5


def check_inputs(draft: IntArray, q: FloatArray, p: FloatArray, num_draft: IntArray) -> None:
    """Check what the verifier relies on, in the part of the arrays that it reads.

    Args:
        draft: drafted tokens `[B, K]`.
        q: drafter laws `[B, K, V]`.
        p: target laws `[B, K + 1, V]`.
        num_draft: number of drafts of each row `[B]`.

    Raises:
        ValueError: shapes disagree, `num_draft` is not in 0…K, a probability is negative or not finite,
            a row does not sum to 1, or a draft has q = 0. Names the row and the value.
    """
    _check_shapes(draft, q, p, num_draft)
    batch, width = draft.shape
    vocabulary = p.shape[2]
    if (bad := (num_draft < 0) | (num_draft > width)).any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: num_draft is {num_draft[row]}, must be 0 to {width}")
    drafted = np.arange(width) < num_draft[:, None]
    _check_laws("q", q, drafted)
    _check_laws("p", p, np.arange(width + 1) <= num_draft[:, None])
    if (bad := drafted & ((draft < 0) | (draft >= vocabulary))).any():
        row, i = np.argwhere(bad)[0]
        raise ValueError(f"row {row}, draft {i}: token {draft[row, i]} is not one of {vocabulary} tokens")
    tokens = np.where(drafted, draft, 0)
    drawn_from = q[np.arange(batch)[:, None], np.arange(width), tokens]
    if (bad := drafted & (drawn_from == 0)).any():
        row, i = np.argwhere(bad)[0]
        raise ValueError(f"row {row}, draft {i}: token {draft[row, i]} has q = 0, so it was not drawn from q")


def _check_shapes(draft: IntArray, q: FloatArray, p: FloatArray, num_draft: IntArray) -> None:
    if draft.ndim == 2 and p.ndim == 3:
        batch, width = draft.shape
        vocabulary = p.shape[2]
        wanted = ((batch, width, vocabulary), (batch, width + 1, vocabulary), (batch,))
        if (q.shape, p.shape, num_draft.shape) == wanted:
            return
    raise ValueError(
        "shapes must be draft [B, K], q [B, K, V], p [B, K + 1, V], num_draft [B]; got "
        f"{list(draft.shape)}, {list(q.shape)}, {list(p.shape)}, {list(num_draft.shape)}"
    )


def _check_laws(name: str, laws: FloatArray, used: BoolArray) -> None:
    """Check the laws `[B, n, V]` where `used` `[B, n]`."""
    # NaN compares false, hence "not all as it should be" rather than "any as it should not".
    if (bad := used & ~((laws >= 0) & (laws < np.inf)).all(axis=2)).any():
        row, i = np.argwhere(bad)[0]
        law = laws[row, i]
        token = int((~((law >= 0) & (law < np.inf))).argmax())
        raise ValueError(f"row {row}: {name}[{i}] gives token {token} the probability {law[token]}")
    sums = laws.sum(axis=2, dtype=np.float64, where=used[:, :, None])
    if (bad := used & (abs(sums - 1) > _TOLERANCE)).any():
        row, i = np.argwhere(bad)[0]
        raise ValueError(f"row {row}: {name}[{i}] sums to {sums[row, i]:.9g}, must be 1")
