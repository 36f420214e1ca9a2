"""How many tokens a step emits: chains, trees, and batches whose rows draft differently.

Source: Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding", ICML 2023, equation 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def chain_tokens(acceptance: ArrayLike, draft_tokens: ArrayLike) -> Floats:
    """Return E(α, k) = Σ αⁱ for i = 0 … k: the tokens a step emits, the verifier's own included.

    Args:
        acceptance: probability that a draft is accepted, given that those before it were; any shape.
        draft_tokens: drafts a step; of a shape that broadcasts with it, and need not be whole.
    """
    alpha, k = np.broadcast_arrays(np.asarray(acceptance, dtype=np.float64), np.asarray(draft_tokens, dtype=np.float64))
    certain = alpha >= 1
    safe = np.where(certain, 0.0, alpha)
    return np.where(certain, k + 1, (1 - safe ** (k + 1)) / (1 - safe))


def chain_tokens_without_bonus(acceptance: ArrayLike, draft_tokens: ArrayLike) -> Floats:
    """Return the same where a step whose drafts are all accepted emits no token beyond them: E(α, k) − αᵏ."""
    alpha = np.asarray(acceptance, dtype=np.float64)
    return chain_tokens(alpha, draft_tokens) - alpha ** np.asarray(draft_tokens, dtype=np.float64)


def ragged_tokens(acceptance: ArrayLike, draft_tokens: ArrayLike) -> float:
    """Return the tokens a row emits in the mean, where rows draft and accept differently: that of E(αᵢ, kᵢ)."""
    return float(chain_tokens(acceptance, draft_tokens).mean())


def acceptance_for(tokens: float, draft_tokens: int) -> float | None:
    """Return the acceptance with which k drafts a step emit so many tokens; None where even k + 1 are too few.

    It is found by bisection, to 1e-12.
    """
    if tokens > draft_tokens + 1:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if chain_tokens(middle, draft_tokens) < tokens else (low, middle)
    return high


@dataclass(frozen=True)
class Shape:
    """The drafts of a step: a tree given by the parent of each node 1, 2, …, N; 0 is the last emitted token.

    A chain is a tree that does not branch.
    """

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.parents, start=1):
            if not 0 <= parent < node:
                raise ValueError(f"node {node} has the parent {parent}, must be one of 0 to {node - 1}")

    @classmethod
    def chain(cls, length: int) -> "Shape":
        """Return the chain of so many drafts."""
        return cls(tuple(range(length)))

    @property
    def nodes(self) -> int:
        """Drafts."""
        return len(self.parents)

    @property
    def branches(self) -> bool:
        """Whether it is no chain: then a mask tells each node what it may see."""
        return self.parents != tuple(range(self.nodes))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node 1 to N, from 1."""
        found = [0]
        for parent in self.parents:
            found.append(found[parent] + 1)
        return tuple(found[1:])

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Nodes at depth 1, 2, …: as many passes does a drafter take that drafts one token behind another."""
        return tuple(np.bincount(self.depths, minlength=1)[1:].tolist()) if self.parents else ()

    def tokens(self, acceptance: float, later_child: float = 0.0) -> float:
        """Return 1 + Σ over nodes of the probability that the path to it is accepted.

        Args:
            acceptance: probability that a first child is accepted, given that its parent was.
            later_child: a later child, tried where its elders were rejected, is accepted with this share of it.
        """
        reached = [1.0]
        left: dict[int, float] = {}
        for parent in self.parents:
            rate = acceptance * (later_child if parent in left else 1.0)
            taken = left.get(parent, 1.0) * rate
            left[parent] = left.get(parent, 1.0) - taken
            reached.append(reached[parent] * taken)
        return sum(reached)

    def mask_bytes(self, context: ArrayLike) -> Floats:
        """Return the bytes of a sequence's mask in one layer: a bit for each node and each token that it may see."""
        if not self.branches:
            return np.zeros_like(np.asarray(context, dtype=np.float64))
        rows = self.nodes + 1
        return rows * (np.asarray(context, dtype=np.float64) + rows) / 8


def tree(parents: Sequence[int]) -> Shape:
    """Return the shape of a tree."""
    return Shape(tuple(parents))
