"""Answers that are copies of each other across requests, as a cache in front of an engine makes them.

Requests of an audit differ in their seeds, so their answers are independent draws; where they are not, no test of a
law means anything. Copies among the choices of one request are another matter: see LAW1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.model.evidence import Draws
from specaudit.model.plan import Role
from specaudit.stats.intervals import excess_p, proportion_lower

_CROSSABLE = 4
"""Choices of a request from which on some can be held against those of other numbers."""

_SURELY = 0.9
"""Share of second halves that agree where the first do, from which on only copying explains it."""


@dataclass(frozen=True, kw_only=True)
class Copying:
    """How often answers to different requests with the same prompt were equal."""

    pairs: int
    """Pairs of requests that were compared; no request stands in two."""
    equal: int
    """Pairs whose answers were equal wherever they were compared."""
    p_value: float
    """Of independent draws; 1 where there is nothing to compare."""


_NOTHING = Copying(pairs=0, equal=0, p_value=1.0)


def copies(draws: Draws) -> Copying:
    """Test whether answers to different requests are copies of each other.

    With several choices a request, choice i of one request is held against choice i of another, and choice i against
    choice j: independent draws agree as often in both ways. With one, the second halves of answers are held against
    each other: those of copies agree where the first halves do, and hardly elsewhere. The most common answer to each
    prompt is left out there, since a law may well have a favourite; so caches need three answers to be noticed.

    Args:
        draws: completions of one arm, drawn at a temperature above 0 with seeds of their own.
    """
    table = _by_request(draws)
    first, second = _pairs(table, draws.prompt_index[table[:, 0]])
    if not len(first):
        return _NOTHING
    if table.shape[1] >= _CROSSABLE:
        return _by_number(draws.tokens, first, second)
    return _by_halves(draws, first[:, 0], second[:, 0])


def copied_answers(draws: Mapping[Role, Draws], alpha: float) -> str:
    """Say in a sentence which arm's answers are copies of each other; nothing where independence is not rejected.

    Args:
        draws: completions of each arm.
        alpha: error level over all arms.
    """
    for role, arm in draws.items():
        if (found := copies(arm)).p_value <= alpha / len(draws):
            return (
                f"The {role} gave the same answer to both requests in {found.equal} of {found.pairs} pairs that differ "
                "in their seeds, as a cache does: its answers are no independent draws."
            )
    return ""


def _by_request(draws: Draws) -> NDArray[np.int64]:
    """Rows of `draws` by request and choice `[R, n]`; requests that lost a choice are left out."""
    _, starts, counts = np.unique(draws.slot, return_index=True, return_counts=True)
    most = int(counts.max(initial=1))
    rows: NDArray[np.int64] = starts[counts == most][:, None] + np.arange(most)
    return rows


def _pairs(table: NDArray[np.int64], prompts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neighbouring requests with the same prompt, each in one pair `[P, n]`."""
    order = np.argsort(prompts, kind="stable")
    place = np.arange(len(order)) - np.searchsorted(prompts[order], prompts[order])
    begins = np.flatnonzero((place[:-1] % 2 == 0) & (prompts[order][:-1] == prompts[order][1:]))
    return table[order[begins]], table[order[begins + 1]]


def _by_number(tokens: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]) -> Copying:
    """Even choices are held against those of the same number, odd ones crosswise."""
    same = (tokens[first[:, ::2]] == tokens[second[:, ::2]]).all(axis=-1)
    odd = np.arange(1, first.shape[1], 2)
    odd = odd[: len(odd) // 2 * 2]
    crossed = (tokens[first[:, odd]] == tokens[second[:, odd.reshape(-1, 2)[:, ::-1].ravel()]]).all(axis=-1)
    return Copying(
        pairs=len(same),
        equal=int(same.all(axis=1).sum()),
        p_value=excess_p(int(same.sum()), same.size, int(crossed.sum()), crossed.size),
    )


def _by_halves(draws: Draws, first: NDArray[np.int64], second: NDArray[np.int64]) -> Copying:
    agree = draws.tokens[first] == draws.tokens[second]
    equal = int(agree.all(axis=1).sum())
    favourite = _favourites(draws)
    rare = ~(favourite[first] | favourite[second])
    half = agree.shape[1] // 2
    begin, end = agree[rare, :half].all(axis=1), agree[rare, half:].all(axis=1)
    alike, unlike = int(begin.sum()), int((~begin).sum())
    if not alike or not unlike or proportion_lower(int(end[begin].sum()), alike, 1e-3) < _SURELY:
        return Copying(pairs=len(agree), equal=equal, p_value=1.0)
    p_value = excess_p(int(end[begin].sum()), alike, int(end[~begin].sum()), unlike)
    return Copying(pairs=len(agree), equal=equal, p_value=p_value)


def _favourites(draws: Draws) -> NDArray[np.bool_]:
    """Which completions are the most common one of their prompt `[N]`."""
    answers, answer, counts = np.unique(
        np.column_stack([draws.prompt_index, draws.tokens]), axis=0, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-counts, answers[:, 0]))
    _, begins = np.unique(answers[order, 0], return_index=True)
    return np.isin(answer.ravel(), order[begins])
