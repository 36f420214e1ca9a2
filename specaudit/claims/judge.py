"""Judging a claim: one division first, then what would have to be true of everything that was not stated."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from specaudit.claims.architecture import Architecture
from specaudit.claims.consistency import check_claim
from specaudit.claims.division import Division, division
from specaudit.claims.experts import touched, weights_read
from specaudit.claims.hardware import Device
from specaudit.claims.judgement import Judgement, Range, Ruling
from specaudit.claims.questions import questions
from specaudit.claims.ranges import ranges
from specaudit.claims.space import PHYSICS, SHARING, USUAL, Cells, Space, cells, space_of, speed_up_of
from specaudit.claims.tables import Table
from specaudit.claims.tokens import acceptance_for
from specaudit.model.claim import Claim


def judge(claim: Claim, name: str, devices: Table[Device], models: Table[Architecture]) -> Judgement:
    """Judge a claim by memory and arithmetic alone.

    Args:
        claim: what was said.
        name: what the claim is known as.
        devices: the table of devices.
        models: the table of models.

    Raises:
        UsageError: the claim is incomplete, contradicts itself, or names what is in neither table.
    """
    check_claim(claim, name)
    physical, usual = (space_of(claim, devices, models, reach) for reach in (PHYSICS, USUAL))
    possible, common = cells(physical), cells(usual)
    made = division(physical)
    return Judgement(
        name=name,
        claim=claim,
        ruling=_ruling(claim, possible, common),
        tokens_needed=None if made is None else made.tokens_needed,
        over_ceiling=None if made is None else made.over,
        reasons=tuple(_reasons(claim, made, possible, common, physical)),
        only_if=ranges(physical, possible) if possible.any() else (),
        usually=_usually(usual, common) if possible.any() else (),
        questions=questions(claim),
    )


def _usually(usual: Space, common: Cells) -> tuple[Range, ...]:
    """What must be true at usual efficiency; where only experts stand in the way, how far tokens must share them."""
    if common.any():
        return ranges(usual, common)
    if usual.model is None or usual.model.experts is None:
        return ()
    sharing = replace(usual, reach=replace(usual.reach, shared_choice=SHARING))
    shared = cells(sharing)
    return ranges(sharing, shared) if shared.any() else ()


def _ruling(claim: Claim, possible: Cells, common: Cells) -> Ruling:
    numbers, conditions = claim.numbers, claim.conditions
    if not possible.any():
        return Ruling.IMPOSSIBLE
    over_nothing = conditions.baseline is None and numbers.baseline_tokens_per_second is None
    if numbers.tokens_per_second is None and numbers.speed_up is not None and over_nothing:
        return Ruling.NOT_MEASURABLE
    return Ruling.PLAUSIBLE if common.any() else Ruling.CONDITIONAL


def _reasons(claim: Claim, made: Division | None, possible: Cells, common: Cells, space: Space) -> Iterator[str]:
    if made is not None:
        yield from made.sentences
    factor = speed_up_of(claim)
    if factor is not None and factor > 1:
        yield from _drafts_needed(claim, factor)
        yield from _experts_read(space, factor)
    if not possible.any():
        if made is None or made.over is None:
            yield from _why_not(claim, space)
        return
    if not common.any():
        yield (
            "It is out of reach at what is usual: three quarters of the bandwidth, half of the arithmetic, at most "
            "eight drafts, each accepted with .85 at most."
        )
    if claim.numbers.speed_up is not None and not (
        claim.conditions.baseline or claim.numbers.baseline_tokens_per_second
    ):
        yield "What the speed-up is over is not said, so nobody else can measure it."
    numbers = claim.numbers
    if factor is None and numbers.tokens_per_second is None and numbers.baseline_tokens_per_second is None:
        yield "No speed is claimed: memory and arithmetic have nothing to say. CTR3 measures acceptance: specaudit run"
    if claim.numbers.lossless:
        yield "That the output is the target's is nothing to be computed; an audit shows it: specaudit run"


def _experts_read(space: Space, factor: float) -> Iterator[str]:
    """Of a mixture of experts a step of several tokens reads more than one of a single token."""
    if space.model is None or space.model.experts is None:
        return
    experts, batch = space.model.experts, space.claim.conditions.batch or 1
    tokens = batch * (min(space.draft_tokens) + 1)
    before, after = weights_read(space.model, [batch, tokens])
    yield (
        f"At a batch of {batch}, {tokens} tokens that choose their experts independently touch "
        f"{float(touched(experts, tokens)):.2f} of {experts.routed} routed experts a layer, where "
        f"{float(touched(experts, batch)):.2f} are touched without drafts: a step reads {after / before:.2f} times the "
        f"bytes, and the speed-up takes {factor * after / before:.2f} tokens a step where bytes decide."
    )


def _drafts_needed(claim: Claim, factor: float) -> Iterator[str]:
    """A step must emit as many tokens as it is times as fast, even if drafting and verifying cost nothing."""
    stated = claim.conditions.draft_tokens
    drafts = stated or max(1, int(np.ceil(factor - 1)))
    enough = acceptance_for(factor, drafts)
    if not stated and enough is not None and enough > _CERTAIN:
        drafts += 1
        enough = acceptance_for(factor, drafts)
    free = f"Even if drafting and verifying cost nothing, {factor:.3g} times as fast takes {factor:.3g} tokens a step"
    if enough is None:
        if stated:
            yield f"{free}; {drafts} drafts give {drafts + 1} at most."
        return
    longer = acceptance_for(factor, drafts + 2)
    more = "" if stated or longer is None else f", or {drafts + 2} with one of {_up(longer)}"
    some = "one draft" if drafts == 1 else f"{drafts} drafts"
    yield f"{free}: {some} with an acceptance of at least {_up(enough)}{more}."


_CERTAIN = 0.9995
"""Drafts that must never be wrong are no way to a speed-up: one more is told."""


def _why_not(claim: Claim, space: Space) -> Iterator[str]:
    numbers = claim.numbers
    if numbers.acceptance_rate is not None or numbers.acceptance_length is not None:
        yield "So many tokens a step do not come of the acceptance that was stated."
    elif space.model is not None:
        yield "No batch, context, precision or draft length that was looked at makes it true where it is not stated."


def _up(acceptance: float) -> str:
    """An acceptance that suffices, rounded up to three digits."""
    return f"{np.ceil(acceptance * 1000 - 1e-9) / 1000:.3f}"
