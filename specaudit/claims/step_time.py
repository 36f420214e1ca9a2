"""What a step costs: the longer of reading memory and multiplying, between devices, and before anything starts.

`t(B, k) = max[(W + κ·B·context)/(η_b·BW), 2N·B·(k+1)/(η_f·F)] + t0`, after Williams, Waterman, Patterson, "Roofline: an
insightful visual performance model", CACM 2009; attention's arithmetic and the links between devices can be added.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specaudit.claims.architecture import Architecture
from specaudit.claims.experts import weights_read
from specaudit.claims.hardware import Device
from specaudit.claims.precisions import PRECISIONS, Precision
from specaudit.claims.tokens import Floats
from specaudit.model.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A model on devices.

    Attributes:
        model: what is decoded.
        device: on what.
        devices: how many of it share every layer (tensor parallelism).
        precision: of the weights.
        cache: precision of keys and values.
        bandwidth_efficiency: share of the memory's bandwidth that is reached, η_b.
        compute_efficiency: share of the dense operations that is reached, η_f.
        overhead: seconds of a step that neither reads nor multiplies: launches, sampling, scheduling, t0.
        attention: whether attention's own arithmetic is counted.
        links: whether the all-reduces between devices are counted, two a layer, by their bytes.
        shared_choice: see `experts.touched`.

    Raises:
        UsageError: the device multiplies no weights of that precision, or there is no link between devices.
    """

    model: Architecture
    device: Device
    devices: int = 1
    precision: Precision = PRECISIONS["bf16"]
    cache: Precision = PRECISIONS["bf16"]
    bandwidth_efficiency: float = 1.0
    compute_efficiency: float = 1.0
    overhead: float = 0.0
    attention: bool = True
    links: bool = True
    shared_choice: float = 0.0

    def __post_init__(self) -> None:
        if self.device.flops(self.precision) is None:
            raise UsageError(
                f"{self.device.name}: the hardware table has no arithmetic for weights in {self.precision.name}.",
                hint=f"Add dense.{self.precision.arithmetic[0]} to its row, with its source",
            )
        if self.devices > 1 and self.links and self.device.link_bytes_per_second is None:
            raise UsageError(
                f"{self.device.name}: the hardware table has no link between {self.devices} of them.",
                hint="Add link to its row, with its source",
            )

    @property
    def bandwidth(self) -> float:
        """Bytes a second that are reached, over all devices."""
        return self.devices * self.device.bytes_per_second * self.bandwidth_efficiency

    @property
    def flops(self) -> float:
        """Operations a second that are reached, over all devices."""
        dense = self.device.flops(self.precision)
        assert dense is not None
        return self.devices * dense * self.compute_efficiency

    @property
    def cache_bytes(self) -> float:
        """Bytes that a token leaves in the cache, κ."""
        return self.model.cached * self.cache.bytes

    @property
    def ridge(self) -> float:
        """Tokens a step from which multiplying takes longer than reading the weights, with an empty cache."""
        return self.model.parameters * self.precision.bytes / self.bandwidth * self.flops / (2 * self.model.active)

    def memory_seconds(self, batch: ArrayLike, context: ArrayLike, tokens: ArrayLike, mask: ArrayLike = 0.0) -> Floats:
        """Return the seconds that reading takes: weights, cache, and masks of so many bytes a sequence and layer."""
        sequences = np.asarray(batch, dtype=np.float64)
        read = weights_read(self.model, sequences * np.asarray(tokens), shared_choice=self.shared_choice)
        cache = self.cache_bytes * sequences * np.asarray(context, dtype=np.float64)
        masks = self.model.layers * sequences * np.asarray(mask, dtype=np.float64)
        return (read * self.precision.bytes + cache + masks) / self.bandwidth

    def compute_seconds(self, batch: ArrayLike, context: ArrayLike, tokens: ArrayLike) -> Floats:
        """Return the seconds that multiplying takes: weights, and attention where it is counted."""
        attended = self.model.attended * np.asarray(context, dtype=np.float64) if self.attention else 0.0
        per_token = 2 * self.model.active + attended
        computed = np.asarray(batch, dtype=np.float64) * np.asarray(tokens, dtype=np.float64)
        return np.asarray(computed * per_token / self.flops)

    def link_seconds(self, batch: ArrayLike, tokens: ArrayLike) -> Floats:
        """Return the seconds that all-reduces take: two a layer of the hidden states, in 16 bits, as a ring."""
        count = np.asarray(np.asarray(batch, dtype=np.float64) * np.asarray(tokens, dtype=np.float64))
        link = self.device.link_bytes_per_second
        if self.devices == 1 or not self.links or link is None:
            return np.zeros_like(count)
        share = 2 * (self.devices - 1) / self.devices
        return np.asarray(2 * self.model.layers * count * self.model.hidden * 2 * share / link)

    def step(self, batch: ArrayLike, context: ArrayLike, tokens: ArrayLike = 1, mask: ArrayLike = 0.0) -> Floats:
        """Return the seconds of a step.

        Args:
            batch: sequences; any shape, as the others, which broadcast with it.
            context: tokens of each in the cache.
            tokens: tokens of each that are computed: the last one and its drafts.
            mask: bytes of a sequence's mask in a layer.
        """
        memory = self.memory_seconds(batch, context, tokens, mask)
        longer = np.maximum(memory, self.compute_seconds(batch, context, tokens))
        return longer + self.link_seconds(batch, tokens) + self.overhead
