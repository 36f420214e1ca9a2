"""Tokens at the edge of the filters, which rounding may have put on the other side."""

from dataclasses import dataclass
from math import exp

from specaudit.laws.contexts import WHOLE, NextLaw
from specaudit.model.completion import TokenLogprobs
from specaudit.model.request import Sampling, Token

DOUBT = 0.25
"""Natural logarithms by which two passes over the same weights may differ: one step of bfloat16 logits between 32 and
64 (eight bits of significand)."""


@dataclass(frozen=True, kw_only=True)
class Edge:
    """What is in doubt about a law's support.

    Attributes:
        tokens: Tokens, kept or cut, that rounding may have put on the wrong side.
        beyond: Whether tokens that were not even reported may be among them.
    """

    tokens: frozenset[Token]
    beyond: bool


def edge_of(position: TokenLogprobs, law: NextLaw, sampling: Sampling, mode: str) -> Edge:
    """Return the tokens that stand within `DOUBT` of a law's cut.

    Where no cut token was reported there is either no cut, or the edge is not known: then it is the least likely kept
    token, and any that was not reported.

    Args:
        position: The logprobs that the law was made of.
        law: What the filters made of them.
        sampling: The filters.
        mode: `raw` or `processed`: processed logprobs do not tell of what was cut.
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
    if kept[lowest] - highest > DOUBT:
        return Edge(tokens=frozenset(), beyond=False)
    near = {token for token, logprob in kept.items() if logprob <= highest + DOUBT}
    fallen = {token for token, logprob in cut.items() if logprob >= kept[lowest] - DOUBT}
    # If the last that was reported is in doubt, so may be the next, which was not.
    beyond = min(cut.values()) >= kept[lowest] - DOUBT
    return Edge(tokens=frozenset(near | fallen), beyond=beyond)
