"""What a device can do: bytes and operations a second, as its data sheet says, dense and sparse told apart."""

from math import inf

import msgspec

from specaudit.claims.precisions import Precision
from specaudit.claims.units import quantity
from specaudit.model.errors import UsageError
from specaudit.model.record import Record


class Device(Record, frozen=True, kw_only=True):
    """A row of the hardware table; quantities carry their units."""

    name: str
    aliases: tuple[str, ...] = ()
    memory: str
    """E.g. `80 GB`, or `80 GiB`."""
    bandwidth: str
    """Of the memory that weights are read from, e.g. `3.35 TB/s`."""
    link: str | None = None
    """Between devices, both directions together, as vendors state it, e.g. `900 GB/s`."""
    dense: dict[str, str] = msgspec.field(default_factory=dict)
    """Operations a second by arithmetic (bf16, fp8, fp4), without sparsity."""
    sparse: dict[str, str] = msgspec.field(default_factory=dict)
    """The same with structured sparsity, which no decoder of dense weights reaches; data sheets often print these."""
    memory_only: bool = False
    """Its dense operations are not published: only its memory is held against a claim."""
    source: str
    """Where the figures stand."""
    remarks: str = ""

    @property
    def memory_bytes(self) -> float:
        """Bytes of memory."""
        return quantity(self.memory, "memory", f"{self.name}, memory")

    @property
    def bytes_per_second(self) -> float:
        """Bytes a second from memory."""
        return quantity(self.bandwidth, "bandwidth", f"{self.name}, bandwidth")

    @property
    def link_bytes_per_second(self) -> float | None:
        """Bytes a second to other devices, in one direction; None where there is no link."""
        return None if self.link is None else quantity(self.link, "bandwidth", f"{self.name}, link") / 2

    def arithmetic(self, precision: Precision) -> str | None:
        """Return the arithmetic that weights of a precision are multiplied in; None where the table has none."""
        return next((name for name in precision.arithmetic if name in self.dense), None)

    def flops(self, precision: Precision) -> float | None:
        """Return dense operations a second on weights of a precision; None where the table has none.

        They are infinite where only the memory is known.
        """
        if self.memory_only:
            return inf
        name = self.arithmetic(precision)
        return None if name is None else quantity(self.dense[name], "compute", f"{self.name}, dense.{name}")


def check_device(device: Device, known: Device | None = None) -> None:
    """Refuse a row that cannot be right.

    Args:
        device: the row.
        known: the row of the same name that is shipped, if any.

    Raises:
        UsageError: a quantity has no unit, sparse figures stand without dense ones or contradict them, or a dense
            figure is a sparse one.
    """
    for read in ("memory_bytes", "bytes_per_second", "link_bytes_per_second"):
        getattr(device, read)  # raises where its unit is missing
    dense = {name: quantity(text, "compute", f"{device.name}, dense.{name}") for name, text in device.dense.items()}
    sparse = {name: quantity(text, "compute", f"{device.name}, sparse.{name}") for name, text in device.sparse.items()}
    if not dense and not device.memory_only:
        raise UsageError(
            f"{device.name}: no dense operations a second are given, which is what decoding gets.",
            hint="Add dense, which with 2:4 sparsity is half of the sparse figure; or, unpublished, memory_only = true",
        )
    for name, value in dense.items():
        _refuse_twice(
            device, name, value, quantity(known.dense[name], "compute", name) if known and name in known.dense else None
        )
    if "fp8" in dense and "bf16" in dense and dense["fp8"] > 3 * dense["bf16"]:
        raise UsageError(
            f"{device.name}: dense.fp8 is {dense['fp8'] / dense['bf16']:.2f} times dense.bf16, where it is twice: one "
            "of them seems to be with sparsity.",
            hint="Look which of the two the data sheet prints",
        )
    for name, value in sparse.items():
        if name not in dense:
            raise UsageError(
                f"{device.name}: sparse.{name} = {device.sparse[name]} stands without a dense figure.",
                hint=f"Add dense.{name}: with 2:4 sparsity it is half of the sparse one",
            )
        if not 1.8 < value / dense[name] < 2.2:
            raise UsageError(
                f"{device.name}: sparse.{name} is {value / dense[name]:.2f} times dense.{name}, where 2:4 sparsity "
                "gives twice.",
                hint="Look which of the two the data sheet prints",
            )


def _refuse_twice(device: Device, name: str, value: float, known: float | None) -> None:
    if known is not None and 1.8 < value / known < 2.2:
        raise UsageError(
            f"{device.name}: dense.{name} = {device.dense[name]} is twice what is known of it, as figures with "
            "sparsity are.",
            hint="Write it under [device.sparse], and half of it under [device.dense]",
        )
