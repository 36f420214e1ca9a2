"""How much faster speculation is, `S = E·t(B, 0)/(t(B, k) + t_d)`, and which draft length is best where."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from specaudit.claims.drafters import Drafter
from specaudit.claims.step_time import Deployment
from specaudit.claims.tokens import Floats, Shape


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """A deployment with a drafter.

    Attributes:
        deployment: what verifies.
        drafter: what drafts.
        acceptance: probability that a draft is accepted, given that those before it were.
        later_child: in trees, see `Shape.tokens`.
    """

    deployment: Deployment
    drafter: Drafter
    acceptance: float
    later_child: float = 0.0

    def seconds(self, shape: Shape, batch: ArrayLike, context: ArrayLike) -> Floats:
        """Return the seconds of a step, drafting included; arrays as in `Deployment.step`."""
        deployment = self.deployment
        verify = deployment.step(batch, context, shape.nodes + 1, shape.mask_bytes(context))
        return verify + self.drafter.seconds(deployment, shape, batch, context)

    def speed_up(self, shape: Shape, batch: ArrayLike, context: ArrayLike) -> Floats:
        """Return the tokens a second over those of plain decoding of the same batch."""
        tokens = shape.tokens(self.acceptance, self.later_child)
        return tokens * self.deployment.step(batch, context) / self.seconds(shape, batch, context)

    def user_speed(self, shape: Shape, batch: ArrayLike, context: ArrayLike) -> Floats:
        """Return the tokens a second that each sequence gets."""
        return shape.tokens(self.acceptance, self.later_child) / self.seconds(shape, batch, context)

    def break_even(self, shape: Shape, batch: ArrayLike, context: ArrayLike) -> Floats:
        """Return the tokens a step must emit for a request not to be slowed down: `(t(B, k) + t_d)/t(B, 0)`."""
        return self.seconds(shape, batch, context) / self.deployment.step(batch, context)

    def by_length(self, batches: ArrayLike, contexts: ArrayLike, most: int) -> Floats:
        """Return the speed-up of chains of 0 to `most` drafts, `[K + 1, …]` over the shape of the others."""
        return np.stack([self.speed_up(Shape.chain(k), batches, contexts) for k in range(most + 1)])


def best_lengths(speculation: Speculation, batches: ArrayLike, contexts: ArrayLike, most: int) -> Floats:
    """Return the draft length with the largest speed-up, 0 where drafting only loses; of equal ones the shortest."""
    return np.asarray(speculation.by_length(batches, contexts, most).argmax(axis=0), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Batch sizes that want the same draft length.

    Attributes:
        first: smallest batch.
        last: largest batch.
        draft_tokens: drafts a step.
    """

    first: int
    last: int
    draft_tokens: int


def buckets(speculation: Speculation, context: int, *, largest: int, most: int) -> tuple[Bucket, ...]:
    """Return the best draft length of every batch size from 1 to `largest`, runs of equal ones joined."""
    best = best_lengths(speculation, np.arange(1, largest + 1), context, most).astype(int)
    starts = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), largest]
    return tuple(Bucket(first=first + 1, last=last, draft_tokens=int(best[first])) for first, last in pairwise(starts))


def loses_from(speculation: Speculation, shape: Shape, context: int, *, largest: int) -> int | None:
    """Return the smallest batch from which on speculation is slower than plain decoding; None up to `largest`."""
    faster = np.flatnonzero(speculation.speed_up(shape, np.arange(1, largest + 1), context) >= 1)
    first = int(faster[-1]) + 2 if faster.size else 1
    return first if first <= largest else None


def flips(one: Floats, other: Floats, at: Sequence[float]) -> tuple[float, ...]:
    """Return the places `at` which the larger of two curves becomes the smaller one."""
    ahead = np.asarray(one) > np.asarray(other)
    return tuple(at[int(i) + 1] for i in np.flatnonzero(ahead[1:] != ahead[:-1]))
