"""Whether a claim's figures and conditions can be reasoned with: nothing needed is missing, nothing contradicts."""

import re
from collections.abc import Iterator

from specaudit.claims.precisions import precision_named
from specaudit.model.claim import Claim, least
from specaudit.model.errors import UsageError

_ROUNDING = 0.05
"""Relative difference up to which figures that say the same may differ."""


def check_claim(claim: Claim, where: str) -> None:
    """Refuse a claim that is incomplete or contradicts itself.

    Raises:
        UsageError: the message says what is missing or contradicts what, and the hint what to add.
    """
    for message, hint in _mistakes(claim):
        raise UsageError(f"{where}: {message}", hint=hint)


def _mistakes(claim: Claim) -> Iterator[tuple[str, str]]:
    yield from _missing(claim)
    yield from _ranges(claim)
    yield from _contradictions(claim)
    conditions = claim.conditions
    if conditions.hardware and (found := re.match(r"\s*(\d+)\s*[x×*]\s*(.+)", conditions.hardware)):
        yield (
            f"hardware = {conditions.hardware!r} holds two conditions.",
            f'Write hardware = "{found[2]}" and devices = {found[1]}',
        )
    for name in ("precision", "cache_precision"):
        if text := getattr(conditions, name):
            precision_named(text, name)


def _missing(claim: Claim) -> Iterator[tuple[str, str]]:
    numbers, conditions = claim.numbers, claim.conditions
    if all(getattr(numbers, name) is None for name in numbers.__struct_fields__ if name != "per"):
        yield "it gives no number.", "Add a figure under [numbers], or lossless = true"
    for name in claim.unstated:
        if getattr(conditions, name) is not None:
            yield f"{name} is stated under [conditions] and listed as unstated.", "Keep one of the two"
    baseline = conditions.baseline or numbers.baseline_tokens_per_second
    if numbers.speed_up is not None and not baseline and "baseline" not in claim.unstated:
        yield (
            "a speed-up is given without what it is over.",
            "Add baseline under [conditions] or baseline_tokens_per_second under [numbers]; where the source names "
            'none, unstated = ["baseline"]',
        )
    if numbers.tokens_per_second is not None:
        for needed in ("model", "hardware"):
            if getattr(conditions, needed) is None and needed not in claim.unstated:
                yield (
                    f"tokens a second are given without the {needed}.",
                    f"Add {needed} under [conditions]; where the source names none, unstated = [{needed!r}]",
                )
    if numbers.per == "batch" and conditions.batch is None:
        yield "tokens a second are of a whole batch, and no batch is stated.", "Add batch under [conditions]"


def _ranges(claim: Claim) -> Iterator[tuple[str, str]]:
    for name in ("speed_up", "tokens_per_second", "acceptance_rate", "acceptance_length"):
        value = getattr(claim.numbers, name)
        if isinstance(value, tuple) and value[0] > value[1]:
            yield f"{name} = [{value[0]:g}, {value[1]:g}] ends below where it begins.", "Write [low, high]"


def _contradictions(claim: Claim) -> Iterator[tuple[str, str]]:
    numbers, drafts = claim.numbers, claim.conditions.draft_tokens
    speed_up, fast, plain = numbers.speed_up, least(numbers.tokens_per_second), numbers.baseline_tokens_per_second
    if isinstance(speed_up, float) and fast and plain and abs(fast / plain / speed_up - 1) > _ROUNDING:
        yield (
            f"{fast:g} tokens/s over {plain:g} are {fast / plain:.2f} times as many, and speed_up = {speed_up:g}.",
            "Look up which two of the three figures belong together",
        )
    if speed_up is None and fast and plain and fast < plain:
        yield (
            f"{fast:g} tokens/s with speculation are fewer than the {plain:g} without.",
            "Exchange the two; or, where a slow-down is what was said, add speed_up",
        )
    length, rate = numbers.acceptance_length, numbers.acceptance_rate
    if drafts is None:
        return
    if length is not None and (least(length) or 0) > drafts + 1:
        yield (
            f"{_told(length)} tokens a step cannot come of {drafts} drafts, which give {drafts + 1} at most.",
            "Look up draft_tokens; trees emit one path, not all of their nodes",
        )
    if isinstance(length, float) and isinstance(rate, float):
        implied = 1 + drafts * rate
        if abs(implied / length - 1) > _ROUNDING:
            yield (
                f"{rate:g} of {drafts} drafts accepted are {implied:.2f} tokens a step, and acceptance_length = "
                f"{length:g}.",
                "acceptance_rate is accepted drafts per draft, not the chance of a single draft to be accepted",
            )


def _told(figure: float | tuple[float, ...]) -> str:
    return f"{figure:g}" if isinstance(figure, float) else f"{figure[0]:g} to {figure[1]:g}"
