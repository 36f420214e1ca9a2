"""What the cells that make a claim true have in common: a range for every condition that was not stated."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from specaudit.claims.judgement import Range
from specaudit.claims.space import AXES, Cells, Space

_WORDS = {
    "hardware": "hardware",
    "devices": "devices",
    "precision": "precision of the weights",
    "experts shared": "share of a step's further tokens that touch no expert of their own",
    "acceptance": "acceptance of a single draft",
    "batch": "batch",
    "context": "context",
    "draft_tokens": "drafts a step",
}


def ranges(space: Space, found: Cells) -> tuple[Range, ...]:
    """Return a range for each condition whose value matters: some values of it do, others do not.

    Args:
        space: the values of each axis.
        found: its cells, of which at least one makes the claim true.
    """
    return tuple(_ranges(space, found))


def _ranges(space: Space, found: Cells) -> Iterator[Range]:
    true = found.true
    if len(space.acceptances) > 1 and not found.accepted.all():
        yield _range("acceptance", space.values("acceptance"), found.accepted)
    for number, axis in enumerate(AXES):
        values = space.values(axis)
        if true.shape[number] == 1 or (axis == "experts shared" and not (space.model and space.model.experts)):
            continue
        does = np.asarray(true.any(axis=tuple(i for i in range(true.ndim) if i != number)))
        if not does.all():
            yield _range(axis, values, does)


def _range(axis: str, values: tuple[object, ...], does: NDArray[np.bool_]) -> Range:
    words = _WORDS[axis]
    found = [value for value, yes in zip(values, does, strict=True) if yes]
    if isinstance(values[0], str):
        names = tuple(map(str, found))
        return Range(condition=axis, names=names, words=f"{words}: {' or '.join(names)}")
    numbers = np.array(values, dtype=np.float64)
    low, high = float(numbers[does][0]), float(numbers[does][-1])
    below, above = bool(not does[0]), bool(not does[-1])
    span = {
        (True, True): f"between {low:,g} and {high:,g}" if low < high else f"{low:,g}",
        (True, False): f"at least {low:,g}",
        (False, True): f"at most {high:,g}",
        (False, False): f"{low:,g} or {high:,g}, and not all between",
    }[(below, above)]
    if above:
        span += f", not {numbers[numbers > high][0]:,g}"
    return Range(
        condition=axis,
        low=low,
        high=high,
        bounded_below=below,
        bounded_above=above,
        words=f"{words}: {span}",
    )
