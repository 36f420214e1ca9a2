"""Pairs of requests that are to be answered alike, for whoever has one endpoint and its text."""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.model.completion import Completion
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Witness
from specaudit.model.plan import PlannedRequest
from specaudit.model.request import Prompt, Request


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How many of the pairs were answered differently."""

    pairs: int
    different: int
    lost: int
    """Pairs of which an answer, or a choice of it, did not come back."""
    witness: Witness | None
    """The first pair that differs."""


def in_pairs(
    prompts: Sequence[Prompt], first: Sequence[Request], second: Sequence[Request]
) -> tuple[tuple[PlannedRequest, ...], ...]:
    """Return two blocks that each hold one request of every pair: the second is asked when the first has ended.

    Args:
        prompts: One per pair.
        first: The first request of each pair; its own prompt is left empty.
        second: The other one.
    """
    rows = range(len(prompts))
    return tuple(
        tuple(PlannedRequest(arm="subject", prompt_index=index, request=requests[index]) for index in rows)
        for requests in (first, second)
    )


def compare(evidence: Evidence, stage: str) -> Comparison:
    """Compare the answers of a stage's two blocks, choice by choice, by their tokens or else by their text."""
    answered = evidence.answered(stage, "subject")
    half = len(answered) // 2
    pairs = different = lost = 0
    witness: Witness | None = None
    for (slot, planned, one), (other_slot, _, other) in zip(answered[:half], answered[half:], strict=True):
        if not (evidence.attempts_at(stage, slot) and evidence.attempts_at(stage, other_slot)):
            continue  # what was never asked is no loss
        compared = list(zip(*(found.completions if found else () for found in (one, other)), strict=False))
        lost += planned.request.n - len(compared)
        pairs += len(compared)
        for ours, theirs in compared:
            at = _first_difference(ours, theirs)
            if at is not None:
                different += 1
                witness = witness or Witness(
                    what=f"prompt {planned.prompt_index}, from {at}", observed=None, expected=None, unit=""
                )
    return Comparison(pairs=pairs, different=different, lost=lost, witness=witness)


def _first_difference(ours: Completion, theirs: Completion) -> str | None:
    """Where two completions differ first, in words; None where they are equal."""
    if ours.tokens is not None and theirs.tokens is not None:
        rows, unit = (ours.tokens, theirs.tokens), "token"
    else:
        rows, unit = (tuple(_text(ours)), tuple(_text(theirs))), "character"
    if rows[0] == rows[1]:
        return None
    at = next((i for i, (a, b) in enumerate(zip(*rows, strict=False)) if a != b), min(map(len, rows)))
    return f"{unit} {at + 1}"


def _text(completion: Completion) -> str:
    return (completion.reasoning or "") + (completion.text or "")
