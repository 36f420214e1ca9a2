"""The one division that decides most headlines: bytes a step must read, over bytes a second that memory gives."""

from dataclasses import dataclass
from math import ceil

from specaudit.claims.experts import weights_read
from specaudit.claims.hardware import Device
from specaudit.claims.precisions import Precision
from specaudit.claims.space import SLACK, Space, lowest, per_batch
from specaudit.model.claim import least


@dataclass(frozen=True, kw_only=True)
class Division:
    """A claim's figures against the ceiling of its memory.

    Attributes:
        sentences: the division in words.
        steps_per_second: steps that the memory's bandwidth allows, cache and efficiency left out.
        tokens_needed: tokens that a step must emit for the claimed tokens a second; None where none are claimed.
        over: how many times too large the figure without speculation is, or that with it for the drafts that were
            stated; None where it is not.
    """

    sentences: tuple[str, ...]
    steps_per_second: float
    tokens_needed: float | None
    over: float | None


def division(space: Space) -> Division | None:
    """Divide.

    Where no precision is stated, the widest weights with which the figure without speculation is possible are taken, or
    the narrowest; where no number of devices is, the fewest that hold the weights.

    Without hardware there is only a yardstick. None where the model is not known, or no tokens a second are claimed.
    """
    numbers, conditions = space.claim.numbers, space.claim.conditions
    claimed = numbers.tokens_per_second is not None or numbers.baseline_tokens_per_second is not None
    if space.model is None or not claimed:
        return None
    if not conditions.hardware:
        return _yardstick(space)
    device = space.hardware[0]
    chosen = _chosen(space, device)
    if chosen is None:
        return None
    precision, count = chosen
    together = conditions.batch if per_batch(space.claim) and conditions.batch else 1
    # Every weight counts, the input embedding included, of which one row is read: 1 to 2 % too many.
    read = float(weights_read(space.model, together)) * precision.bytes
    steps = count * device.bytes_per_second / read
    sentences = [_ceiling(space, device, precision, count, read, steps, together)]
    over = _fits(space, device, precision, count, sentences)
    plain, fast = numbers.baseline_tokens_per_second, least(numbers.tokens_per_second)
    if plain is not None:
        most, ratio = steps * together, lowest(plain) / (steps * together)
        allowed_to = f"memory allows{f' {together} sequences together' if together > 1 else ''}"
        if ratio > SLACK:
            sentences.append(
                f"{plain:,g} tokens/s without speculation are {ratio:.1f} times the {most:,.0f} that {allowed_to}."
            )
            over = ratio
        else:
            sentences.append(
                f"{plain:,g} tokens/s without speculation are {_share(plain / most)} of what {allowed_to}."
            )
    needed = None
    if fast is not None:
        needed = fast / (steps * together)
        if conditions.draft_tokens and needed / (conditions.draft_tokens + 1) > SLACK:
            most = conditions.draft_tokens + 1
            take = f"{fast:,g} tokens/s take {_tokens(needed)} tokens a step{_of(together)}"
            sentences.append(f"{take}; {most - 1} drafts give {most} at most.")
            over = over or needed / most
        elif needed > 1:
            sentences.append(f"{fast:,g} tokens/s take at least {_tokens(needed)} tokens a step{_of(together)}.")
        else:
            sentences.append(f"{fast:,g} tokens/s are possible even without speculation.")
    return Division(sentences=tuple(sentences), steps_per_second=steps, tokens_needed=needed, over=over)


def _yardstick(space: Space) -> Division | None:
    """Say what eight H100 would make of it; it speaks against nothing."""
    assert space.model is not None
    device = next((device for device in space.hardware if device.name == "H100"), None)
    fast = least(space.claim.numbers.tokens_per_second)
    if device is None or fast is None:
        return None
    precision = next((one for one in space.precisions if one.name == "fp8"), space.precisions[0])
    steps = 8 * device.bytes_per_second / (float(weights_read(space.model, 1)) * precision.bytes)
    told = (
        f"The hardware is not said. As a yardstick, 8 × {device.name} take {space.model.name} in {precision.name} "
        f"{steps:,.0f} steps a second at most; {fast:,g} tokens/s of one user then take {fast / steps:.2f} tokens a "
        "step."
    )
    return Division(sentences=(told,), steps_per_second=steps, tokens_needed=None, over=None)


def _tokens(needed: float) -> str:
    return f"{needed:,.2f}" if needed < 1e5 else f"{needed:.3g}"


def _share(ratio: float) -> str:
    return f"{ratio:.0%}" if ratio >= 0.01 else "less than 1 %"


def _of(together: int) -> str:
    return f" of each of {together} sequences" if together > 1 else ""


def _chosen(space: Space, device: Device) -> tuple[Precision, int] | None:
    """The precision and the number of devices that the division is made for."""
    assert space.model is not None
    plain = space.claim.numbers.baseline_tokens_per_second or 0.0
    together = space.claim.conditions.batch if per_batch(space.claim) else 1
    allowed = sorted((one for one in space.precisions if device.flops(one) is not None), key=lambda one: -one.bytes)
    found = None
    for precision in allowed:
        weights = space.model.parameters * precision.bytes
        count = space.claim.conditions.devices or ceil(weights / device.memory_bytes)
        found = precision, count
        read = float(weights_read(space.model, together or 1)) * precision.bytes
        fast_enough = SLACK * count * device.bytes_per_second / read * (together or 1) >= lowest(plain)
        if fast_enough and weights <= count * device.memory_bytes:
            break
    return found


def _ceiling(
    space: Space, device: Device, precision: Precision, count: int, read: float, steps: float, together: int
) -> str:
    conditions = space.claim.conditions
    assert space.model is not None
    assumed = [
        text
        for stated, text in (
            (conditions.precision, f"the precision is not said; narrower weights than {precision.name} take less"),
            (conditions.devices, "the number of devices is not said; these are the fewest that hold the weights"),
        )
        if stated is None
    ]
    aside = f" ({'; '.join(assumed)})" if assumed else ""
    many = f"{count} × {device.name}" if count > 1 else f"one {device.name}"
    return (
        f"{space.model.name} in {precision.name} reads {read / 1e9:,.2f} GB a step, and {many} "
        f"{count * device.bytes_per_second / 1e12:,.4g} TB a second: {steps:,.0f} steps a second at most{aside}."
    )


def _fits(space: Space, device: Device, precision: Precision, count: int, sentences: list[str]) -> float | None:
    assert space.model is not None
    weights, memory = space.model.parameters * precision.bytes, count * device.memory_bytes
    if weights <= memory:
        return None
    sentences.append(f"{weights / 1e9:,.1f} GB of weights do not fit into {memory / 1e9:,.1f} GB of memory.")
    return weights / memory
