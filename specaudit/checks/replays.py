"""What scoring one context again and again tells of the reference's numerics.

Two passes over the same weights differ in their last bits with whatever else is in the batch. The completions of a
prompt begin alike and are scored in requests of their own, so that contexts near the prompt are scored many times: each
time is a replay of the others. By how much their processed laws differ, the subject's may differ without any fault.
"""

from collections.abc import Iterable, Iterator
from math import log

from specaudit.checks.scoring import Place, Scorable, positions
from specaudit.laws.edge import DOUBT, ToldLaw, told_law
from specaudit.laws.orders import order_of
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.request import Sampling, Token

Round = tuple[Iterable[Scorable], Iterable[Response | None]]
"""Completions as they were asked about, and the answers to the requests of their places, in order."""

_DEPTHS = 8
"""First tokens of a completion whose contexts are compared: further on hardly one comes twice."""


def spread(sampling: Sampling, reference: Capabilities, rounds: Iterable[Round], doubt: float = DOUBT) -> float:
    """Return the largest difference between logarithms of one token's processed probability in one context.

    0 where no context was scored twice. Tokens at the edge of the filters have a bound of their own, and are left out.

    Args:
        sampling: Parameters under which the completions were drawn.
        reference: What the reference reveals.
        rounds: All that was scored.
        doubt: Natural logarithms about the cut within which a token is at the edge.
    """
    first: dict[tuple[tuple[int, ...], tuple[Token, ...]], ToldLaw] = {}
    largest = 0.0
    for context, told in _told(sampling, reference, rounds, doubt):
        largest = max(largest, _apart(first.setdefault(context, told), told))
    return largest


def _told(
    sampling: Sampling, reference: Capabilities, rounds: Iterable[Round], doubt: float
) -> Iterator[tuple[tuple[tuple[int, ...], tuple[Token, ...]], ToldLaw]]:
    """Every context near a prompt that was scored, each time with what was told of it."""
    mode, order = reference.logprobs_mode, order_of(reference.engine)
    for place, response in _asked(rounds):
        for depth, position in positions(place, response):
            if depth >= _DEPTHS:
                break
            told = None if position is None else told_law(position, sampling, mode, order, doubt)
            if told is not None:
                yield (place.prompt, place.tokens[:depth]), told


def _asked(rounds: Iterable[Round]) -> Iterator[tuple[Place, Response | None]]:
    for completions, answers in rounds:
        yield from zip((place for one in completions for place in one.places), answers, strict=False)


def _apart(one: ToldLaw, other: ToldLaw) -> float:
    if one is other:  # equal lists of logprobs are read once
        return 0.0
    known = (one.law.keys() & other.law.keys()) - one.edge.tokens - other.edge.tokens
    return max((abs(log(one.law[token] / other.law[token])) for token in known), default=0.0)


def numeric_note(noise: float, slack: float) -> tuple[str, ...]:
    """Say that numerics were larger than the suite declares; nothing where they were not."""
    if noise <= slack:
        return ()
    return (
        f"two scorings of one context by the reference differ by up to {noise:.2g} nats, which is neither bet on nor "
        f"bounded; {slack:g} are declared",
    )
