"""How many verification steps an answer took, seen from outside: an interval, unless nothing was trimmed.

A completion of n tokens is its prefill token and what its steps emitted: `n = 1 + Σ(a_i + 1) - T`, where step i
accepted a_i drafts and T tokens, at most K, were trimmed from the last step at a stop or cap. Stops and caps come
first: only where neither can have cut a block, T is 0.
"""

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps that an answer can have taken.

    Attributes:
        least: At least so many.
        most: At most so many.
    """

    least: int
    most: int


def steps_taken(
    completion_tokens: int, draft_limit: int, accepted: int | None = None, *, trimmed: bool = True
) -> Steps:
    """Return the verification steps behind a completion.

    Args:
        completion_tokens: Its tokens, stop token included.
        draft_limit: K, the most draft tokens of a step.
        accepted: Draft tokens that the engine says were accepted, trimmed ones included; None if unknown.
        trimmed: A stop or cap may have cut the last step.

    Raises:
        ValueError: No sequence of steps gives such a completion.
    """
    if completion_tokens < 0 or draft_limit < 0:
        raise ValueError(f"{completion_tokens} tokens and {draft_limit} drafts per step are no counts")
    emitted = max(0, completion_tokens - 1)
    least, most = ceil(emitted / (draft_limit + 1)), emitted
    if accepted is not None:
        most_trimmed = draft_limit if trimmed and emitted else 0
        least, most = max(least, emitted - accepted), min(most, emitted - accepted + most_trimmed)
    if least > most:
        raise ValueError(
            f"{accepted} drafts cannot have been accepted in {completion_tokens} tokens, {draft_limit} to a step"
        )
    return Steps(least=least, most=most)
