"""Every way in which a claim may have come about, on a grid: which cells make it true, and what they have in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from specaudit.claims.architecture import Architecture
from specaudit.claims.hardware import Device
from specaudit.claims.precisions import PRECISIONS, Precision, precision_named
from specaudit.claims.step_time import Deployment
from specaudit.claims.tables import Table
from specaudit.claims.tokens import Floats, chain_tokens
from specaudit.model.claim import Claim, least


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What may be reached where nothing is stated.

    Attributes:
        bandwidth: share of the memory's bandwidth.
        compute: share of the dense operations.
        acceptance: largest probability that a draft is accepted.
        draft_tokens: most drafts a step.
        cache: precision of keys and values.
        shared_choice: shares of a batch's further tokens that touch no experts of their own.
        hidden: whether what verifying costs may hide behind what a plain step takes anyway (launches, waiting): then a
            speed-up is limited by the tokens of a step alone.
    """

    bandwidth: float
    compute: float
    acceptance: float
    draft_tokens: int
    cache: str
    shared_choice: tuple[float, ...]
    hidden: bool


PHYSICS = Reach(
    bandwidth=1.0, compute=1.0, acceptance=1.0, draft_tokens=512, cache="fp8", shared_choice=(0.0, 1.0), hidden=True
)
"""What memory and arithmetic allow. Drafting is free and nothing waits; edits of a file draft hundreds of tokens."""
USUAL = Reach(
    bandwidth=0.75, compute=0.5, acceptance=0.85, draft_tokens=8, cache="bf16", shared_choice=(0.0,), hidden=False
)
"""What is declared usual: three quarters of the bandwidth, half of the operations, eight drafts at most, accepted with
.85 each at most, a cache in 16 bits, tokens that choose their experts independently. Drafting is free here, too."""

SLACK = 1.02
"""Step times count every weight, the input embedding included, of which one row is read: 1 to 2 % too many. Nothing is
called impossible for that."""

BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
CONTEXTS = (128, 1024, 8192, 32_768, 131_072)
DEVICES = (1, 2, 4, 8, 16, 32, 64, 256, 576, 1024)
DRAFTS = (*range(1, 25), 32, 48, 64, 96, 128, 256, 512)
ACCEPTANCES = tuple(np.round(np.arange(0.05, 1.001, 0.01), 2).tolist())

SHARING = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of a batch's further tokens that touch no experts of their own, for models with experts."""

AXES = (
    "hardware", "devices", "precision", "experts shared", "batch", "context", "draft_tokens",
)  # fmt: skip
"""Conditions that are looked at beside the acceptance of a draft, in the order in which cells are counted."""


@dataclass(frozen=True, kw_only=True)
class Space:
    """The values that each condition may have: one where it was stated, all of the grid where it was not."""

    claim: Claim
    model: Architecture | None
    hardware: tuple[Device, ...]
    devices: tuple[int, ...]
    precisions: tuple[Precision, ...]
    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    draft_tokens: tuple[int, ...]
    acceptances: tuple[float, ...]
    reach: Reach

    def values(self, axis: str) -> tuple[object, ...]:
        """Return the values of an axis, names for what has one."""
        found: dict[str, tuple[object, ...]] = {
            "hardware": tuple(device.name for device in self.hardware),
            "devices": self.devices,
            "precision": tuple(precision.name for precision in self.precisions),
            "experts shared": self.reach.shared_choice,
            "acceptance": self.acceptances,
            "batch": self.batches,
            "context": self.contexts,
            "draft_tokens": self.draft_tokens,
        }
        return found[axis]


def space_of(claim: Claim, devices: Table[Device], models: Table[Architecture], reach: Reach) -> Space:
    """Return the space of a claim; a stated condition keeps its value even where it is beyond what is usual.

    Raises:
        UsageError: it names hardware, a model or a precision that is not known.
    """
    conditions, numbers = claim.conditions, claim.numbers
    model = models.find(conditions.model, "model") if conditions.model else None
    hardware = (devices.find(conditions.hardware, "hardware"),) if conditions.hardware else tuple(devices.rows.values())
    stated = numbers.acceptance_rate is not None or numbers.acceptance_length is not None
    return Space(
        claim=claim,
        model=model,
        hardware=hardware if model else (),
        devices=(conditions.devices,) if conditions.devices else DEVICES,
        precisions=(
            (precision_named(conditions.precision),)
            if conditions.precision
            else tuple(precision for name, precision in PRECISIONS.items() if name != "fp16")
        ),
        batches=(conditions.batch,) if conditions.batch else BATCHES,
        contexts=(conditions.context,) if conditions.context else CONTEXTS,
        draft_tokens=(conditions.draft_tokens,)
        if conditions.draft_tokens
        else tuple(k for k in DRAFTS if k <= reach.draft_tokens),
        # What was stated says how many tokens a step emits: the chance of a single draft is not needed.
        acceptances=(float("nan"),) if stated else tuple(a for a in ACCEPTANCES if a <= reach.acceptance),
        reach=reach,
    )


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What it takes in each cell, and what a step can emit.

    Attributes:
        needed: tokens a step must emit for the claim to be true, infinite where none suffice, one axis for each of
            `AXES`.
        tokens: tokens that a step emits, `[A, K]` by acceptance, ascending, and drafts; 0 where that cannot be.
    """

    needed: Floats
    tokens: Floats

    @property
    def true(self) -> NDArray[np.bool_]:
        """The cells in which some acceptance makes the claim true."""
        return np.asarray(self.tokens.max(axis=0) >= self.needed)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """The acceptances `[A]` that make the claim true in some cell."""
        least_needed = self.needed.reshape(-1, self.needed.shape[-1]).min(axis=0)
        return np.asarray((self.tokens >= least_needed).any(axis=1))

    def any(self) -> bool:
        """Whether the claim can be true at all."""
        return bool(self.true.any())


def cells(space: Space) -> Cells:
    """Work out every cell of a space."""
    tokens = _tokens(space)
    if space.model is None:
        # Without a model nothing is known but that verifying is no cheaper than plain decoding.
        whole = np.full((1,) * (len(AXES) - 1) + (len(space.draft_tokens),), lowest(speed_up_of(space.claim) or 1.0))
        return Cells(needed=whole, tokens=tokens)
    parts = [_needed(space, deployment) for deployment in _deployments(space)]
    shape = (len(space.hardware), len(space.devices), len(space.precisions), len(space.reach.shared_choice))
    return Cells(needed=np.array(parts).reshape(*shape, *parts[0].shape), tokens=tokens)


def _deployments(space: Space) -> Iterator[Deployment | None]:
    assert space.model is not None
    stated = space.claim.conditions.cache_precision
    for device, count, precision, shared in product(
        space.hardware, space.devices, space.precisions, space.reach.shared_choice
    ):
        if device.flops(precision) is None:
            yield None
            continue
        yield Deployment(
            model=space.model,
            device=device,
            devices=count,
            precision=precision,
            cache=precision_named(stated or space.reach.cache),
            bandwidth_efficiency=space.reach.bandwidth,
            compute_efficiency=space.reach.compute,
            attention=False,
            links=False,
            shared_choice=shared,
        )


def _tokens(space: Space) -> Floats:
    """Tokens a step, `[A, K]`; 0 where so many drafts cannot emit what was stated."""
    numbers, drafts = space.claim.numbers, np.array(space.draft_tokens, dtype=np.float64)
    if numbers.acceptance_length is not None:
        length = _most(numbers.acceptance_length)
        return np.where(drafts + 1 >= length, length, 0.0)[None]
    if numbers.acceptance_rate is not None:
        return (1 + drafts * _most(numbers.acceptance_rate))[None]
    return chain_tokens(np.array(space.acceptances)[:, None], drafts)


def _needed(space: Space, deployment: Deployment | None) -> Floats:
    """Tokens a step must emit under one deployment, `[B, C, K]`."""
    batch = np.array(space.batches, dtype=np.float64)[:, None, None]
    context = np.array(space.contexts, dtype=np.float64)[None, :, None]
    drafts = np.array(space.draft_tokens, dtype=np.float64)
    whole = (len(space.batches), len(space.contexts), len(space.draft_tokens))
    if deployment is None:
        return np.full(whole, np.inf)
    memory = deployment.model.parameters * deployment.precision.bytes + deployment.cache_bytes * batch * context
    can = memory <= deployment.devices * deployment.device.memory_bytes
    plain, step = deployment.step(batch, context), deployment.step(batch, context, drafts + 1)
    together = batch if per_batch(space.claim) else np.ones_like(batch)
    numbers = space.claim.numbers
    if numbers.baseline_tokens_per_second is not None:
        can = can & (SLACK * together / plain >= lowest(numbers.baseline_tokens_per_second))
    needed = np.ones(whole)
    if (fast := least(numbers.tokens_per_second)) is not None:
        needed = np.maximum(needed, lowest(fast) * step / together / SLACK)
    if (factor := speed_up_of(space.claim)) is not None:
        needed = np.maximum(needed, lowest(factor) * (1.0 if space.reach.hidden else step / plain))
    return np.where(can, needed, np.inf)


def per_batch(claim: Claim) -> bool:
    """Whether tokens a second are of all sequences together."""
    numbers = claim.numbers
    return numbers.per == "batch" or (numbers.per is None and claim.conditions.batch is not None)


def speed_up_of(claim: Claim) -> float | None:
    """Return the speed-up that is promised at least, from tokens a second where it is not stated."""
    numbers = claim.numbers
    fast, plain = least(numbers.tokens_per_second), numbers.baseline_tokens_per_second
    if numbers.speed_up is not None:
        return least(numbers.speed_up)
    return fast / plain if fast and plain else None


def lowest(figure: float) -> float:
    """Return the smallest value that is told as this figure: half a unit of its last digit less, at most 2 %."""
    digits = f"{figure:.6g}"
    decimals = len(digits.partition(".")[2])
    return max(figure - 0.5 * 10.0**-decimals, 0.98 * figure)


def _most(figure: float | tuple[float, ...]) -> float:
    return figure[1] if isinstance(figure, tuple) else figure
