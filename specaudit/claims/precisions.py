"""How many bytes a weight takes, and which arithmetic it is multiplied in."""

from dataclasses import dataclass

from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest


@dataclass(frozen=True, kw_only=True)
class Precision:
    """A number format of weights or of the cache.

    Attributes:
        name: the field's name for it.
        bytes: bytes a value, block scales included where the format defines them.
        arithmetic: formats that a device may multiply it in, the preferred one first.
    """

    name: str
    bytes: float
    arithmetic: tuple[str, ...]


_ALL = (
    Precision(name="bf16", bytes=2, arithmetic=("bf16",)),
    Precision(name="fp16", bytes=2, arithmetic=("bf16",)),
    Precision(name="fp8", bytes=1, arithmetic=("fp8", "bf16")),
    Precision(name="int8", bytes=1, arithmetic=("int8", "fp8", "bf16")),
    # Blocks of 16 weights share an FP8 scale, of 32 an exponent of 8 bits.
    Precision(name="nvfp4", bytes=0.5 + 1 / 16, arithmetic=("fp4", "fp8", "bf16")),
    Precision(name="mxfp4", bytes=0.5 + 1 / 32, arithmetic=("fp4", "fp8", "bf16")),
    # Only the weights are small: they are multiplied as BF16.
    Precision(name="int4", bytes=0.5, arithmetic=("bf16",)),
)
PRECISIONS = {precision.name: precision for precision in _ALL}
"""Number formats by name, the wide ones first; FP16 is as fast as BF16, and INT8 as FP8 where a
device has both."""


def precision_named(name: str, what: str = "The precision") -> Precision:
    """Return a number format by its name, in any case.

    Raises:
        UsageError: there is none; a bare number of bits or bytes is none either.
    """
    found = PRECISIONS.get(name.lower())
    if found is not None:
        return found
    if name.strip().isdigit():
        raise UsageError(
            f"{what}: {name!r} does not say whether bits or bytes, nor how they are multiplied.",
            hint=f"Write one of {', '.join(PRECISIONS)}",
        )
    raise UsageError(
        f"{what}: there is no precision {name!r}.{nearest(name.lower(), PRECISIONS)}",
        hint=f"Write one of {', '.join(PRECISIONS)}",
    )
