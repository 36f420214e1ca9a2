"""Draft lengths under load: none, fixed, by the batch, by each request's own past, and by knowing everything."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.claims.speed_up import Bucket, Speculation
from specaudit.claims.tokens import Floats, chain_tokens
from specaudit.decoding.arrays import IntArray
from specaudit.decoding.batch import Rows
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.draft_length import AdaptiveLength, BatchBuckets
from specaudit.decoding.worlds import World

Maker = Callable[[World], SpeculativeDecoder]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A way to choose draft lengths.

    Attributes:
        name: what it is called.
        make: makes a decoder that chooses so.
    """

    name: str
    make: Maker


def fixed(length: int) -> Policy:
    """Return the policy of always so many drafts; 0 decodes plainly."""
    return Policy(
        name="plain" if not length else f"fixed {length}",
        make=lambda world: SpeculativeDecoder(world, draft_tokens=length),
    )


def adaptive(most: int) -> Policy:
    """Return the policy by which each request's last step moves its length; see `AdaptiveLength`."""
    return Policy(
        name="adaptive",
        make=lambda world: SpeculativeDecoder(world, draft_tokens=most, draft_length=AdaptiveLength()),
    )


def by_batch(found: Sequence[Bucket]) -> Policy:
    """Return the policy of a length for each batch size, as vLLM is configured with."""
    most = max(bucket.draft_tokens for bucket in found)
    lengths = tuple((bucket.last, bucket.draft_tokens) for bucket in found)
    return Policy(
        name="by batch",
        make=lambda world: SpeculativeDecoder(world, draft_tokens=most, draft_length=BatchBuckets(lengths)),
    )


def oracle(speculation: Speculation, acceptances: Sequence[float], most: int, context: float) -> Policy:
    """Return the policy that knows each request's acceptance and what a step costs; see `best_shares`.

    Args:
        speculation: what a step costs; its own acceptance does not count.
        acceptances: of each kind, as numbered in the workload.
        most: most drafts a step.
        context: tokens of a sequence in the cache, for the price of a step.
    """
    rates = np.array(acceptances)

    class Oracle(SpeculativeDecoder):
        """Drafts what pays for the requests that are there."""

        _lengths: dict[tuple[int, ...], IntArray]

        def num_draft(self, rows: Rows, running: int) -> IntArray:
            """Choose the length of each row's kind."""
            kinds = rows.tokens[:, 0] // 2
            counts = tuple(np.bincount(kinds, minlength=len(rates)).tolist())
            if counts not in known:
                known[counts] = best_shares(speculation, rates, np.array(counts), most, context)
            chosen = np.minimum(known[counts][kinds], self.room(rows.cap - rows.output_lengths))
            return np.where(self.undrafted(rows.output_lengths), 0, chosen)

    known: dict[tuple[int, ...], IntArray] = {}
    return Policy(name="oracle", make=lambda world: Oracle(world, draft_tokens=most))


def best_shares(speculation: Speculation, rates: Floats, counts: IntArray, most: int, context: float) -> IntArray:
    """Return the draft length of each kind that gives a batch the most tokens a second.

    A draft is worth the probability that it and all before it are accepted. What one costs is nearly the same for all,
    so that the best lengths draft exactly what is worth more than some threshold: all thresholds are tried.

    Args:
        speculation: what a step costs.
        rates: acceptance of each kind `[G]`.
        counts: requests of each kind in the batch `[G]`.
        most: most drafts a step.
        context: tokens of a sequence in the cache.
    """
    worth = rates[:, None] ** np.arange(1, most + 1)
    best, fastest = np.zeros(len(rates), dtype=np.int64), -1.0
    for threshold in np.unique(np.append(worth[counts > 0].ravel(), 2.0)):
        lengths = (worth >= threshold).sum(axis=1)
        tokens = float((chain_tokens(rates, lengths) * counts).sum())
        speed = tokens / ragged_seconds(speculation, np.repeat(lengths, counts), np.full(counts.sum(), context))
        if speed > fastest:
            best, fastest = lengths, speed
    return best


def ragged_seconds(
    speculation: Speculation, drafts: IntArray, contexts: Floats, tokens: IntArray | None = None
) -> float:
    """Return the seconds of a step whose rows draft differently.

    Args:
        speculation: what verifies and drafts.
        drafts: drafts of each row `[b]`.
        contexts: tokens of each in the cache `[b]`.
        tokens: tokens that the target computes of each `[b]`; the last one and the drafts where not given.
    """
    from specaudit.claims.tokens import Shape

    deployment, drafter = speculation.deployment, speculation.drafter
    computed = drafts + 1 if tokens is None else tokens
    rows, context = len(drafts), float(contexts.mean())
    total = float(deployment.step(rows, context, float(computed.mean())))
    if drafter.blind:
        longest = int(drafts.max(initial=0))
        return total + float(drafter.seconds(deployment, Shape.chain(longest), int((drafts > 0).sum()), context))
    for place in range(int(drafts.max(initial=0))):
        total += float(drafter.seconds(deployment, Shape.chain(1), int((drafts > place).sum()), context))
    return total
