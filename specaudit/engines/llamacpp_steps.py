"""The verification steps behind a streamed answer of llama.cpp, from what `timings_per_token` adds up token by token.

`draft_n` and `draft_n_accepted` grow when a step is verified, before its first token is sent; where they stay as they
are, a token belongs to the step before as long as that accepted more, and to a step without drafts elsewhere. The
first token comes from prefill, before all steps.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Told = tuple[int, Mapping[str, Any] | None]
"""How many tokens a piece of the stream holds, and its timings."""


def steps_in(pieces: Iterable[Told]) -> dict[str, list[int]] | None:
    """Return how many tokens each step drafted and how many of these it accepted, `[S]` each.

    None where a piece does not tell, holds several tokens, or counts backwards.
    """
    drafted: list[int] = []
    accepted: list[int] = []
    before, left = (0, 0), 0
    for number, (tokens, timings) in enumerate(piece for piece in pieces if piece[0]):
        now = _counts(timings)
        if now is None or tokens > 1:
            return None
        grown = now[0] - before[0], now[1] - before[1]
        if min(grown) < 0 or grown[1] > grown[0] or (number == 0 and any(now)):
            return None
        before = now
        if grown[0]:
            left = grown[1]
        elif left:
            left -= 1
            continue
        elif number == 0:
            continue
        drafted.append(grown[0])
        accepted.append(grown[1])
    return {"drafted_per_step": drafted, "accepted_per_step": accepted}


def _counts(timings: Mapping[str, Any] | None) -> tuple[int, int] | None:
    if timings is None:
        return None
    drafted, accepted = timings.get("draft_n", 0), timings.get("draft_n_accepted", 0)
    return (drafted, accepted) if type(drafted) is int and type(accepted) is int else None
