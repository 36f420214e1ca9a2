"""Refusing a verification step whose inputs contradict each other."""

from typing import NoReturn

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.verify.rows import Laws, Rows, as_rows, stretches

# Wide enough for a row of float32 that was normalised in float32.
_TOLERANCE = 1e-5


def read_laws(draft: IntArray, q: Laws, p: Laws, num_draft: IntArray) -> tuple[Rows, Rows]:
    """Read q and p row by row, whatever they are given as.

    Raises:
        ValueError: shapes are not draft `[B, K]`, q `[B, K, V]`, p `[B, K + 1, V]`, num_draft `[B]`.
    """
    if draft.ndim == 2:
        batch, width = draft.shape
        q, p = as_rows(q, batch, width), as_rows(p, batch, width + 1)
        laws = batch, width, p.shape[-1]
        if (q.shape, p.shape, num_draft.shape) == (laws, (batch, width + 1, p.shape[-1]), (batch,)):
            return q, p
    shapes = (list(laws.shape) if hasattr(laws, "shape") else "a function" for laws in (draft, q, p, num_draft))
    raise ValueError(
        f"shapes must be draft [B, K], q [B, K, V], p [B, K + 1, V], num_draft [B]; got {', '.join(map(str, shapes))}"
    )


def check_greedy(draft: IntArray, target: IntArray, num_draft: IntArray) -> None:
    """Check what verification at temperature 0 relies on.

    Args:
        draft: drafted tokens `[B, K]`.
        target: the target's argmax at the drafts and behind the last one `[B, K + 1]`.
        num_draft: number of drafts of each row `[B]`.

    Raises:
        ValueError: shapes are not those, `num_draft` is not in 0…K, or the target says no token. Names the row.
    """
    batch, width = draft.shape if draft.ndim == 2 else (-1, -1)
    if (target.shape, num_draft.shape) != ((batch, width + 1), (batch,)):
        shapes = (list(array.shape) for array in (draft, target, num_draft))
        raise ValueError(
            f"shapes must be draft [B, K], target [B, K + 1], num_draft [B]; got {', '.join(map(str, shapes))}"
        )
    _check_counts(num_draft, width)
    if (bad := (target < 0).any(axis=1)).any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: the target says {target[row].tolist()}, of which one is no token")


def _check_counts(num_draft: IntArray, width: int) -> None:
    if (bad := (num_draft < 0) | (num_draft > width)).any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: num_draft is {num_draft[row]}, must be 0 to {width}")


def check_inputs(draft: IntArray, q: Rows, p: Rows, num_draft: IntArray) -> None:
    """Check what the verifier relies on, in the part of the laws that it may read.

    Args:
        draft: drafted tokens `[B, K]`.
        q: drafter laws `[B, K, V]`.
        p: target laws `[B, K + 1, V]`.
        num_draft: number of drafts of each row `[B]`.

    Raises:
        ValueError: `num_draft` is not in 0…K, a probability is negative or not finite, a row does not sum to 1,
            or a draft has q = 0. Names the row and the value.
    """
    batch, width = draft.shape
    vocabulary = p.shape[2]
    _check_counts(num_draft, width)
    drafted = np.arange(width) < num_draft[:, None]
    if (bad := drafted & ((draft < 0) | (draft >= vocabulary))).any():
        row, i = np.argwhere(bad)[0]
        raise ValueError(f"row {row}, draft {i}: token {draft[row, i]} is not one of {vocabulary} tokens")
    check_laws("q", q, num_draft)
    check_laws("p", p, num_draft + 1)
    for part in stretches(batch, vocabulary):
        tokens = np.where(drafted[part], draft[part], -1)
        if (bad := drafted[part] & (q.part(part).entries(tokens) == 0)).any():
            row, i = np.argwhere(bad)[0]
            told = f"row {part.start + row}, draft {i}: token {tokens[row, i]}"
            raise ValueError(f"{told} has q = 0, so it was not drawn from q")


def check_laws(name: str, laws: Rows, used: IntArray) -> None:
    """Check the first laws of each row, as many as are used `[B]`.

    Raises:
        ValueError: a probability is negative or not finite, or a row does not sum to 1.
    """
    batch, positions, vocabulary = laws.shape
    for part in stretches(batch, vocabulary):
        rows, places = np.nonzero(np.arange(positions) < used[part, None])
        read = laws.part(part).at(rows, places)
        # NaN compares false, hence "not all as it should be" rather than "any as it should not".
        least, sums = read.min(axis=1, initial=np.inf), read.sum(axis=1, dtype=np.float64)
        good = (least >= 0) & (abs(sums - 1) <= _TOLERANCE)
        if not good.all():
            i = int(good.argmin())
            _refuse(f"row {part.start + rows[i]}: {name}[{places[i]}]", read[i], sums[i])


def _refuse(where: str, law: FloatArray, total: float) -> NoReturn:
    possible = (law >= 0) & (law < np.inf)
    if possible.all():
        raise ValueError(f"{where} sums to {total:.9g}, must be 1")
    token = int(possible.argmin())
    raise ValueError(f"{where} gives token {token} the probability {law[token]}")
