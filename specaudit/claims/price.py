"""A price list of speculation: what it gives at each batch and context, where it loses, and what memory holds."""

from collections.abc import Sequence

import numpy as np

from specaudit.claims.capacity import capacity
from specaudit.claims.speed_up import Speculation, buckets, loses_from
from specaudit.claims.tails import Spread, tail
from specaudit.claims.tokens import Shape
from specaudit.claims.vllm import speculative_config
from specaudit.model.record import FORM_VERSION, Record


class Cell(Record, frozen=True, kw_only=True):
    """One batch at one context."""

    batch: int
    context: int
    best: int
    """Draft length with the largest speed-up; 0 where drafting only loses."""
    speed_up: float
    """At the best length, over plain decoding of the same batch."""
    longest: float
    """Speed-up at the most drafts that are looked at: what a fixed setting would give."""
    tree: float | None = None
    """Speed-up of the tree, where one was given."""
    user: float
    """Tokens a second of each sequence, at the best length."""
    fits: bool
    """Whether the cache holds so many sequences."""


class Losses(Record, frozen=True, kw_only=True):
    """Requests that a batch slows down."""

    batch: int
    tokens_needed: float
    """Tokens a step must emit for a request not to be slowed down."""
    acceptance_needed: float | None
    """None where no acceptance suffices."""
    slowed: float
    """Share of the requests that are slower than without speculation."""
    slowest: float
    """Speed-up of the request that 99 % are faster than."""


class Context(Record, frozen=True, kw_only=True):
    """What belongs to one context."""

    context: int
    loses_from: int | None
    """Batch from which on even the best draft length is 0; None up to the largest batch."""
    fixed_loses_from: int | None
    """The same for the most drafts, always."""
    lengths: tuple[tuple[int, int, int], ...]
    """(first batch, last batch, drafts a step)."""
    vllm: str
    """The option that tells vLLM so."""
    holds: int
    """Sequences of that context that the cache holds."""
    preemption_seconds: float
    """Time to read one of them again."""
    preemption_tokens: float
    """Tokens that a full cache's sequences would have emitted meanwhile."""
    full_user: float | None
    """Tokens a second of each user when the cache is full, at the best length for it."""


class Price(Record, frozen=True, kw_only=True):
    """A price list."""

    version: int = FORM_VERSION
    model: str
    device: str
    devices: int
    precision: str
    drafter: str
    acceptance: float
    step_bytes: float
    """Bytes of weights that a step of one token reads."""
    steps_per_second: float
    """Steps a second of one sequence with an empty cache."""
    ridge: float
    """Tokens a step from which multiplying takes longer than reading the weights."""
    drafter_share: float
    """Weights of a drafting pass over those that a step of the target reads."""
    most: int
    cells: tuple[Cell, ...]
    contexts: tuple[Context, ...]
    losses: tuple[Losses, ...] = ()
    spread: float | None = None


def price(
    speculation: Speculation,
    *,
    batches: Sequence[int],
    contexts: Sequence[int],
    most: int,
    largest: int,
    memory_used: float,
    tree: Shape | None = None,
    spread: float | None = None,
) -> Price:
    """Price speculation.

    Args:
        speculation: what decodes, with what drafter.
        batches: batch sizes of the table.
        contexts: contexts of the table.
        most: most drafts a step.
        largest: largest batch that is looked at for draft lengths and losses.
        memory_used: share of the devices' memory that weights and cache may take.
        tree: a tree to be compared with chains.
        spread: standard deviation of acceptance over requests; nothing is said of tails without it.

    Raises:
        ValueError: acceptance cannot be spread like that.
    """
    deployment, drafter = speculation.deployment, speculation.drafter
    read = deployment.model.active * deployment.precision.bytes
    spoken = None if spread is None else Spread(mean=speculation.acceptance, deviation=spread)
    return Price(
        model=deployment.model.name,
        device=deployment.device.name,
        devices=deployment.devices,
        precision=deployment.precision.name,
        drafter=drafter.name,
        acceptance=speculation.acceptance,
        step_bytes=read,
        steps_per_second=float(1 / deployment.step(1, 0)),
        ridge=deployment.ridge,
        drafter_share=drafter.weights * (most if drafter.blind else 1) / deployment.model.active,
        most=most,
        cells=_cells(speculation, batches, contexts, most, memory_used, tree),
        contexts=tuple(_context(speculation, context, most, largest, memory_used) for context in contexts),
        losses=()
        if spoken is None
        else tuple(_losses(speculation, batch, contexts[0], most, spoken) for batch in batches),
        spread=spread,
    )


def _cells(
    speculation: Speculation,
    batches: Sequence[int],
    contexts: Sequence[int],
    most: int,
    memory_used: float,
    tree: Shape | None,
) -> tuple[Cell, ...]:
    batch, context = np.meshgrid(np.array(batches), np.array(contexts))
    speeds = speculation.by_length(batch, context, most)
    best = speeds.argmax(axis=0)
    trees = None if tree is None else speculation.speed_up(tree, batch, context)
    plain = 1 / speculation.deployment.step(batch, context)
    holds = {one: capacity(speculation, Shape.chain(most), one, memory_used=memory_used).batch for one in contexts}
    return tuple(
        Cell(
            batch=int(batch[at]),
            context=int(context[at]),
            best=int(best[at]),
            speed_up=float(speeds[(best[at], *at)]),
            longest=float(speeds[(most, *at)]),
            tree=None if trees is None else float(trees[at]),
            user=float(speeds[(best[at], *at)] * plain[at]),
            fits=int(batch[at]) <= holds[int(context[at])],
        )
        for at in np.ndindex(*batch.shape)
    )


def _context(speculation: Speculation, context: int, most: int, largest: int, memory_used: float) -> Context:
    found = buckets(speculation, context, largest=largest, most=most)
    drafting = [bucket.last for bucket in found if bucket.draft_tokens]
    none_from = max(drafting, default=0) + 1
    holds = capacity(speculation, Shape.chain(most), context, memory_used=memory_used)
    at_full = next((bucket.draft_tokens for bucket in found if bucket.first <= holds.batch <= bucket.last), 0)
    full = capacity(speculation, Shape.chain(at_full), context, memory_used=memory_used)
    return Context(
        context=context,
        loses_from=none_from if none_from <= largest else None,
        fixed_loses_from=loses_from(speculation, Shape.chain(most), context, largest=largest),
        lengths=tuple((bucket.first, bucket.last, bucket.draft_tokens) for bucket in found),
        vllm=speculative_config(found),
        holds=holds.batch,
        preemption_seconds=full.preemption_seconds,
        preemption_tokens=full.preemption_tokens,
        full_user=full.user_speed,
    )


def _losses(speculation: Speculation, batch: int, context: int, most: int, spread: Spread) -> Losses:
    found = tail(speculation, Shape.chain(most), batch, context, spread)
    return Losses(
        batch=batch,
        tokens_needed=found.tokens_needed,
        acceptance_needed=found.acceptance_needed,
        slowed=found.slowed,
        slowest=found.slowest,
    )
