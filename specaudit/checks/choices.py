"""Choices of one request: some engines return copies of one completion."""

from dataclasses import replace

import numpy as np

from specaudit.model.evidence import Draws
from specaudit.stats.intervals import excess_p


def are_copies(draws: Draws, alpha: float) -> bool:
    """True if neighbouring choices of one request are equal more often than choices of different requests.

    Both kinds of pairs share their prompt, and no completion stands in two pairs: Fisher's test wants its trials
    independent and alike.
    """
    half = len(draws.tokens) // 2
    neighbours = np.arange(0, half - 1, 2)
    within = neighbours[draws.slot[neighbours] == draws.slot[neighbours + 1]]
    # By prompt, then with the requests of a prompt taking turns, so that neighbours come from different requests.
    rest = np.arange(half, len(draws.tokens))
    turn = np.arange(len(rest)) - np.searchsorted(draws.slot[rest], draws.slot[rest])
    rest = rest[np.lexsort((draws.slot[rest], turn, draws.prompt_index[rest]))]
    first, second = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    strangers = (draws.slot[first] != draws.slot[second]) & (draws.prompt_index[first] == draws.prompt_index[second])
    first, second = first[strangers], second[strangers]
    if not len(within) or not len(first):
        return False
    equal_within = (draws.tokens[within] == draws.tokens[within + 1]).all(axis=1).sum()
    equal_across = (draws.tokens[first] == draws.tokens[second]).all(axis=1).sum()
    return excess_p(int(equal_within), len(within), int(equal_across), len(first)) <= alpha


def first_choices(draws: Draws) -> Draws:
    """One completion per request: choices of one request may be copies of each other."""
    first = np.unique(draws.slot, return_index=True)[1]
    return replace(
        draws,
        tokens=draws.tokens[first],
        prompt_index=draws.prompt_index[first],
        slot=draws.slot[first],
        planned=max(len(first), round(len(first) / (1 - draws.lost_fraction))),
    )
