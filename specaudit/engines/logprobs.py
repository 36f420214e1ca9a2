"""Logprobs of an engine in process, as servers report them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specaudit.model.completion import TokenLogprobs

Table = npt.NDArray[np.float64]


def raw(logits: npt.ArrayLike) -> Table:
    """Return log probabilities `[T, V]` of logits, before any filter."""
    values = np.asarray(logits, dtype=np.float64)
    values = values - values.max(axis=-1, keepdims=True)
    table: Table = values - np.log(np.exp(values).sum(axis=-1, keepdims=True))
    return table


def reported(tokens: Sequence[int], table: Table, count: int) -> tuple[TokenLogprobs, ...]:
    """Return the logprob of each token and of the `count` most likely ones at its place.

    Args:
        tokens: T tokens.
        table: Log probabilities at their places `[T, V]`; what is impossible is never among the most likely.
        count: How many.
    """
    ranked = np.argsort(-table, axis=-1, kind="stable")[:, :count]
    return tuple(
        TokenLogprobs(
            token=int(token),
            logprob=float(row[token]) if np.isfinite(row[token]) else None,
            top=tuple((int(one), float(row[one])) for one in best if np.isfinite(row[one])),
        )
        for token, row, best in zip(tokens, table, ranked, strict=True)
    )
