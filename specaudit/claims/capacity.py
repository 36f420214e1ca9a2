"""Long outputs: how many sequences the cache holds, what a preemption costs, and what a user is left with."""

from dataclasses import dataclass

from specaudit.claims.speed_up import Speculation
from specaudit.claims.tokens import Shape


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a deployment's memory holds at a context.

    Attributes:
        context: tokens of a sequence.
        pool_bytes: bytes left to the cache; negative where the weights do not even fit.
        batch: sequences that fit.
        preemption_seconds: time to read a sequence again from its start, alone.
        preemption_tokens: tokens that the batch would have emitted in that time.
        user_speed: tokens a second of each user when the cache is full; None where nothing fits.
        speed_up: over plain decoding of the same batch; None where nothing fits.
    """

    context: int
    pool_bytes: float
    batch: int
    preemption_seconds: float
    preemption_tokens: float
    user_speed: float | None
    speed_up: float | None


def pool_bytes(speculation: Speculation, shape: Shape, *, memory_used: float) -> float:
    """Return the bytes that weights and drafter leave to the cache of a share of the devices' memory."""
    deployment = speculation.deployment
    weights = deployment.model.parameters + speculation.drafter.resident(shape)
    return deployment.devices * deployment.device.memory_bytes * memory_used - weights * deployment.precision.bytes


def capacity(speculation: Speculation, shape: Shape, context: int, *, memory_used: float = 0.9) -> Capacity:
    """Price a full cache.

    A preempted sequence is read again from its start: recomputation, vLLM's way.

    Args:
        speculation: what decodes, and how drafts are accepted.
        shape: the drafts of a step.
        context: tokens of a sequence in the cache.
        memory_used: share of the devices' memory that weights and cache may take.
    """
    deployment = speculation.deployment
    pool = pool_bytes(speculation, shape, memory_used=memory_used)
    per_sequence = (deployment.cache_bytes + speculation.drafter.cached * deployment.cache.bytes) * context
    batch = max(0, int(pool // per_sequence))
    # Attention over a prompt of n tokens looks at n²/2 pairs, which is a mean context of n/2 a token.
    again = float(deployment.step(1, context / 2, context))
    user = float(speculation.user_speed(shape, batch, context)) if batch else None
    return Capacity(
        context=context,
        pool_bytes=pool,
        batch=batch,
        preemption_seconds=again,
        preemption_tokens=again * batch * (user or 0.0),
        user_speed=user,
        speed_up=float(speculation.speed_up(shape, batch, context)) if batch else None,
    )
