"""What the portfolio is told: laws by context, and the tokens that were emitted in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from specaudit.stats.strata import LAW_SUM_SLACK

Laws = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class ContextTable:
    """Laws of the next token in C contexts over V cells.

    A cell is a token, or in a compact table (`cells_of`) one of the tokens that matter in its context, with all others
    in one last cell. Laws are checked and normalised.

    Attributes:
        p: Processed target law `[C, V]`.
        q: The drafter's law as sampled `[C, V]`; None if it is not known.
        raw: The target's law without penalties, bias and filters `[C, V]`; None if it is not known or is p.
        others: Laws `[C, V]` that a fault of the parameters would have, by the name of the fault.
        edge: Cells whose membership of the nucleus is within numeric error `[C, V]`; None for none. Nothing is bet on
            them: bets are on the law given that the token is none of these.

    Raises:
        ValueError: a table is not `[C, V]`, a probability is negative or NaN, or a row does not sum to 1.
    """

    p: Laws
    q: Laws | None = None
    raw: Laws | None = None
    others: Mapping[str, Laws] = field(default_factory=dict)
    edge: Mask | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.p)
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"laws by context must be [C, V] with C and V at least 1, got {list(shape)}")
        for name in ("p", "q", "raw"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _checked(name, getattr(self, name), shape))
        others = {name: _checked(name, law, shape) for name, law in self.others.items()}
        object.__setattr__(self, "others", others)
        if self.edge is not None and self.edge.shape != shape:
            raise ValueError(f"edge cells must be {list(shape)} as the laws are, got {list(self.edge.shape)}")


def cells_of(listed: npt.ArrayLike, context: npt.ArrayLike, token: npt.ArrayLike) -> Indices:
    """Cells `[N]` of tokens in a compact table; V, the lumped last one, for a token that its context does not list.

    Args:
        listed: Token ids that have a cell of their own in each context `[C, V]`, padded with -1. The compact laws are
            `[C, V + 1]`; where the listed tokens are all that p allows, an unlisted one falls in a cell of mass 0.
        context: Context of each token `[N]`.
        token: Token ids `[N]`.

    Raises:
        ValueError: a token is negative.
    """
    table, rows, tokens = np.asarray(listed), np.asarray(context), np.asarray(token)
    if (tokens < 0).any():
        raise ValueError(f"token {tokens.min()} is not a token")
    order = np.argsort(table, axis=1, kind="stable")
    step = max(int(table.max(initial=0)), int(tokens.max(initial=0))) + 2
    # Rows laid end to end ascend as a whole, so that one search finds all tokens.
    keys = (np.take_along_axis(table, order, axis=1) + 1 + np.arange(len(table))[:, None] * step).ravel()
    wanted = tokens + 1 + rows * step
    found = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    cells: Indices = np.where(keys[found] == wanted, order.ravel()[found], table.shape[1])
    return cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Completions:
    """Emitted tokens of R completions in G groups, in the order of the plan.

    The tokens of a completion lie side by side, and so do the completions of a group. A group holds what may depend
    on each other: the choices of one request if these are suspected to be copies, else one completion.

    Attributes:
        context: Row of the table for each token `[N]`.
        cell: Cell that was emitted `[N]`.
        uniform: Recorded uniform of each position, in [0, 1), for the randomised ranks `[N]`.
        lengths: Tokens received of each completion `[R]`; they sum to N.
        lost: Tokens of each completion that were generated, or may have been, and did not arrive `[R]`.
        groups: Completions in each group, at least 1 `[G]`; they sum to R.

    Raises:
        ValueError: there is no completion, shapes disagree, lengths do not add up, or a uniform is not in [0, 1).
    """

    context: Indices
    cell: Indices
    uniform: npt.NDArray[np.float64]
    lengths: Indices
    lost: Indices
    groups: Indices

    def __post_init__(self) -> None:
        completions = len(self.lengths)
        if not completions:
            raise ValueError("there is no completion to fold")
        tokens = int(self.lengths.sum())
        if any(array.shape != (tokens,) for array in (self.context, self.cell, self.uniform)):
            raise ValueError(
                f"completions of {tokens} tokens need context, cell and uniform of shape [{tokens}], got "
                f"{list(self.context.shape)}, {list(self.cell.shape)}, {list(self.uniform.shape)}"
            )
        if self.lost.shape != self.lengths.shape or min(self.lengths.min(), self.lost.min()) < 0:
            raise ValueError("lengths and lost must both be [R] and not negative")
        if self.groups.sum() != completions or self.groups.min(initial=1) < 1:
            raise ValueError(f"groups must be at least 1 each and sum to {completions} completions")
        if not ((self.uniform >= 0) & (self.uniform < 1)).all():
            raise ValueError("a recorded uniform is not in [0, 1)")

    def spans(self, most_tokens: int) -> list["Completions"]:
        """Cut between groups into parts of about that many tokens."""
        ends = np.cumsum(self.groups)
        tokens = np.concatenate([[0], np.cumsum(self.lengths)])
        part = tokens[ends] // most_tokens
        cuts = np.flatnonzero(np.diff(part)) + 1
        return [
            self._part(first, last, ends, tokens)
            for first, last in zip([0, *cuts], [*cuts, len(self.groups)], strict=True)
        ]

    def _part(self, first: int, last: int, ends: Indices, tokens: Indices) -> "Completions":
        completions = slice(ends[first] - self.groups[first], ends[last - 1])
        span = slice(tokens[completions.start], tokens[completions.stop])
        return Completions(
            context=self.context[span],
            cell=self.cell[span],
            uniform=self.uniform[span],
            lengths=self.lengths[completions],
            lost=self.lost[completions],
            groups=self.groups[first:last],
        )


def _checked(name: str, laws: npt.ArrayLike, shape: tuple[int, ...]) -> Laws:
    table = np.asarray(laws, dtype=np.float64)
    if table.shape != shape:
        raise ValueError(f"{name} must be {list(shape)} as p is, got {list(table.shape)}")
    if (bad := ~(table >= 0).all(axis=1)).any():
        raise ValueError(f"context {int(bad.argmax())}: {name} holds negative or NaN probabilities")
    sums = table.sum(axis=1, keepdims=True)
    if (bad := abs(sums[:, 0] - 1) > LAW_SUM_SLACK).any():
        row = int(bad.argmax())
        raise ValueError(f"context {row}: {name} sums to {sums[row, 0]:.9g}, not to 1")
    checked: Laws = table / sums
    return checked
