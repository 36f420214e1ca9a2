"""Pairs of requests that are to be answered alike, by tokens or by text alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specaudit.model.completion import Completion, Response
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Witness
from specaudit.model.plan import PlannedRequest
from specaudit.model.request import Prompt, Request, Token

Place = tuple[str, int]
"""A stage and a slot of it."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How many of the pairs were answered differently."""

    pairs: int
    different: int
    lost: int
    """Pairs of which an answer, or a choice of it, did not come back, or says nothing."""
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
    """Compare the answers of a stage's two blocks, see `compare_places`."""
    places = [(stage, slot) for slot in range(evidence.stages[stage].size)]
    half = len(places) // 2
    return compare_places(evidence, zip(places[:half], places[half:], strict=True))


def compare_places(evidence: Evidence, pairs: Iterable[tuple[Place, Place]]) -> Comparison:
    """Compare the answers at pairs of places, choice by choice, by their tokens or else by their text."""
    compared = different = lost = 0
    witness: Witness | None = None
    slots: dict[str, tuple[PlannedRequest, ...]] = {}
    for one, other in pairs:
        if not (evidence.attempts_at(*one) and evidence.attempts_at(*other)):
            continue  # what was never asked is no loss
        stage, slot = one
        if stage not in slots:
            slots[stage] = evidence.stages[stage].slots()
        planned = slots[stage][slot]
        responses = (evidence.response(*one), evidence.response(*other))
        choices = [pair for pair in zip(*map(_choices, responses), strict=False) if all(map(_says, pair))]
        choices = choices[: planned.request.n]
        lost += planned.request.n - len(choices)
        compared += len(choices)
        for ours, theirs in choices:
            at = _first_difference(ours, theirs)
            if at is not None:
                different += 1
                witness = witness or Witness(
                    what=f"prompt {planned.prompt_index}, from {at}", observed=None, expected=None, unit=""
                )
    return Comparison(pairs=compared, different=different, lost=lost, witness=witness)


def content(response: Response | None) -> tuple[Token, ...]:
    """Return the tokens of an answer's first choice, or else the characters of its text; nothing where it is lost."""
    first = next(iter(_choices(response)), None)
    if first is None:
        return ()
    return first.tokens if first.tokens is not None else tuple(_text(first))


def _choices(response: Response | None) -> tuple[Completion, ...]:
    return response.completions if response is not None else ()


def _says(completion: Completion) -> bool:
    """Whether it can be told what was answered: a text that is empty equals any other that is."""
    return completion.tokens is not None or bool(_text(completion))


def _first_difference(ours: Completion, theirs: Completion) -> str | None:
    """Where two completions differ first, in words; None where they are equal."""
    if ours.tokens is not None and theirs.tokens is not None:
        rows, unit = (ours.tokens, theirs.tokens), "token"
    else:
        rows, unit = (tuple(_text(ours)), tuple(_text(theirs))), "character"
    if rows[0] == rows[1]:
        return None
    at = next((i for i, (a, b) in enumerate(zip(*rows, strict=False)) if a != b), min(map(len, rows)))
    told = [repr(row[at]) if at < len(row) else "the end" for row in rows]
    return f"{unit} {at + 1}: {told[1]} in place of {told[0]}"


def _text(completion: Completion) -> str:
    return (completion.reasoning or "") + (completion.text or "")
