"""Tokens at the edge of the filters, which rounding may have put on the other side."""

from dataclasses import dataclass
from functools import lru_cache
from math import exp

from specaudit.laws.contexts import WHOLE, NextLaw, scored_law
from specaudit.laws.orders import FilterOrder
from specaudit.model.completion import TokenLogprobs
from specaudit.model.request import Sampling, Token

DOUBT = 0.25
"""Natural logarithms by which two passes over the same weights may differ: one step of bfloat16 logits between 32 and
64 (eight bits of significand)."""


def rounding(doubt: float) -> str:
    """Return the assumption that a doubt is, as findings tell it."""
    return f"two passes over the same weights differ by at most {doubt:g} nats where filters cut"


@dataclass(frozen=True, kw_only=True)
class Edge:
    """What is in doubt about a law's support.

    Attributes:
        tokens: Tokens, kept or cut, that rounding may have put on the wrong side.
        beyond: Whether tokens that were not even reported may be among them.
    """

    tokens: frozenset[Token]
    beyond: bool


@dataclass(frozen=True, kw_only=True)
class ToldLaw:
    """A law that logprobs told, and what is in doubt about its support."""

    law: NextLaw
    edge: Edge


def told_law(
    position: TokenLogprobs, sampling: Sampling, mode: str, order: FilterOrder, doubt: float = DOUBT
) -> ToldLaw | None:
    """Return what a position's most likely tokens tell of its law; None where they do not tell it.

    Equal lists of tokens are read once and give the same object: a context comes again and again, and a check reads
    all that it was told at every round.
    """
    return _told_law(position.top, sampling, mode, order, doubt)


@lru_cache(maxsize=1 << 16)
def _told_law(
    top: tuple[tuple[Token, float], ...], sampling: Sampling, mode: str, order: FilterOrder, doubt: float
) -> ToldLaw | None:
    position = TokenLogprobs(token=top[0][0], logprob=None, top=top) if top else None
    law = None if position is None else scored_law(position, sampling, mode, order)
    if law is None or position is None:
        return None
    return ToldLaw(law=law, edge=edge_of(position, law, sampling, mode, doubt))


def edge_of(position: TokenLogprobs, law: NextLaw, sampling: Sampling, mode: str, doubt: float = DOUBT) -> Edge:
    """Return the tokens that stand within a doubt of a law's cut.

    Where no cut token was reported there is either no cut, or the edge is not known: then it is the least likely kept
    token, and any that was not reported.

    Args:
        position: The logprobs that the law was made of.
        law: What the filters made of them.
        sampling: The filters.
        mode: `raw` or `processed`: processed logprobs do not tell of what was cut.
        doubt: Natural logarithms by which two passes over the same weights may differ.
    """
    reported = dict(position.top)
    kept = {token: reported[token] for token in law}
    cut = {token: logprob for token, logprob in reported.items() if token not in law}
    lowest = min(kept, key=lambda token: kept[token])
    if not cut:
        filtered = sampling.top_k or sampling.top_p < 1 or sampling.min_p
        whole = (mode == "raw" or not filtered) and sum(map(exp, kept.values())) >= WHOLE
        return Edge(tokens=frozenset() if whole else frozenset([lowest]), beyond=not whole)
    highest = max(cut.values())
    if kept[lowest] - highest > doubt:
        return Edge(tokens=frozenset(), beyond=False)
    near = {token for token, logprob in kept.items() if logprob <= highest + doubt}
    fallen = {token for token, logprob in cut.items() if logprob >= kept[lowest] - doubt}
    # If the last that was reported is in doubt, so may be the next, which was not.
    beyond = min(cut.values()) >= kept[lowest] - doubt
    return Edge(tokens=frozenset(near | fallen), beyond=beyond)
