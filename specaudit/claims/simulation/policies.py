"""Draft lengths under load: none, fixed, by the batch, by each request's own past, and by knowing everything."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.claims.speed_up import Bucket, Speculation
from specaudit.claims.tokens import Floats, Shape, chain_tokens
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
    """Return the policy that knows each request's acceptance and what a step costs; see `fairest`.

    Args:
        speculation: what a step costs; its own acceptance does not count.
        acceptances: of each kind, as numbered in the workload.
        most: most drafts a step.
        context: tokens of a sequence in the cache, for the price of a step.
    """
    rates = np.array(acceptances)
    known: dict[tuple[int, ...], IntArray] = {}

    class Oracle(SpeculativeDecoder):
        """Drafts what pays for the requests that are there."""

        def num_draft(self, rows: Rows, running: int) -> IntArray:
            """Choose the length of each row's kind."""
            kinds = rows.tokens[:, 0] // 2
            counts = np.bincount(kinds, minlength=len(rates))
            key = tuple(counts.tolist())
            if key not in known:
                known[key] = fairest(speculation, rates, counts, most, context)
            chosen = np.minimum(known[key][kinds], self.room(rows.cap - rows.output_lengths))
            return np.where(self.undrafted(rows.output_lengths), 0, chosen)

    return Policy(name="oracle", make=lambda world: Oracle(world, draft_tokens=most))


def fairest(speculation: Speculation, rates: Floats, counts: IntArray, most: int, context: float) -> IntArray:
    """Return the draft length of each kind `[G]` with the largest geometric mean of the requests' speeds.

    The most tokens a second would be had by drafting for easy requests and letting hard ones wait, of which the batch
    then fills up. With Σ nᵢ log E(αᵢ, kᵢ) − B log t, a mix of requests that all must be served ends soonest.

    A draft's worth is by how much it raises log E. What verifying one costs is the same for all, so that the best
    lengths draft what is worth more than a threshold, up to a longest length that passes of the drafter are paid for:
    all pairs of the two are tried.

    Args:
        speculation: what a step costs.
        rates: acceptance of each kind `[G]`.
        counts: requests of each kind in the batch `[G]`.
        most: most drafts a step.
        context: tokens of a sequence in the cache.
    """
    emitted = np.log(chain_tokens(rates[:, None], np.arange(most + 1)))
    worth = np.diff(emitted, axis=1)
    thresholds = np.unique(np.append(worth[counts > 0].ravel(), np.inf))
    wanted = (worth >= thresholds[:, None, None]).sum(axis=2)
    candidates = np.unique(np.minimum(wanted[:, None], np.arange(most + 1)[:, None]).reshape(-1, len(rates)), axis=0)
    gains = (emitted[np.arange(len(rates)), candidates] * counts).sum(axis=1)
    times = _seconds_of(speculation, candidates, counts, context)
    best: IntArray = candidates[int((gains - counts.sum() * np.log(times)).argmax())]
    return best


def _seconds_of(speculation: Speculation, lengths: IntArray, counts: IntArray, context: float) -> Floats:
    """Seconds of a step for each choice of lengths `[C, G]`."""
    deployment, drafter = speculation.deployment, speculation.drafter
    rows = int(counts.sum())
    times = deployment.step(rows, context, (counts * (lengths + 1)).sum(axis=1) / rows)
    if drafter.blind:
        by_length = [drafter.seconds(deployment, Shape.chain(k), rows, context) for k in range(int(lengths.max()) + 1)]
        return np.asarray(times + np.array(by_length)[lengths.max(axis=1)])
    a_pass = drafter.seconds(deployment, Shape.chain(1), np.arange(rows + 1), context)
    a_pass[0] = 0.0
    for place in range(int(lengths.max(initial=0))):
        times = times + a_pass[(counts * (lengths > place)).sum(axis=1)]
    return times


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
