"""Answers that are copies of each other: across requests, as a cache makes them, or among the choices of one.

Requests of an audit differ in their seeds and choices are drawn one by one, so all answers are independent draws; where
they are not, no test of a law means anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specaudit.model.evidence import Draws
from specaudit.model.plan import Role
from specaudit.stats.intervals import excess_p, proportion_lower

_CROSSABLE = 4
"""Choices of a request from which on some can be held against those of other numbers."""

REQUESTS = 8
"""Requests per prompt, at least, with which a check plans: with fewer, copies could not be told from other draws."""

_HALF = 4
"""Tokens in a half of a completion from which on halves are held against each other: shorter ones agree by chance."""

_SURELY = 0.9
"""Share of second halves that agree where the first do, from which on only copying explains it."""


@dataclass(frozen=True, kw_only=True)
class Copying:
    """How often two answers were equal that were to be independent."""

    pairs: int
    """Pairs of requests, or of choices, that were compared; none stands in two."""
    equal: int
    """Pairs whose answers were equal wherever they were compared."""
    p_value: float
    """Of independent draws; 1 where there is nothing to compare."""
    least_p: float
    """The p-value that nothing but copies would have had: above the level, copies cannot be told from other draws."""
    exact: bool
    """The p-value holds whatever the law is. Otherwise only copies explain it, but a law that hardly branches late."""


_NOTHING = Copying(pairs=0, equal=0, p_value=1.0, least_p=1.0, exact=True)


def between_requests(draws: Draws, *, lost: int = 0) -> Copying:
    """Test whether answers to different requests are copies of each other.

    With several choices a request, choice i of one request is held against choice i of another, and choice i against
    choice j: independent draws agree as often in both ways. With few, the second halves of answers are held against
    each other: those of copies agree where the first halves do, and hardly elsewhere. The most common answer to each
    prompt is left out there, since a law may well have a favourite; so caches need three answers to be noticed.

    Args:
        draws: completions of one arm, drawn at a temperature above 0 with seeds of their own.
        lost: Completions that may have been lost by what was drawn: as many pairs are taken for unequal where copies
            are looked for, and for equal where they are not.
    """
    table = _by_request(draws)
    first, second = _pairs(table, _strata(draws)[table[:, 0]])
    if not len(first):
        return _NOTHING
    if table.shape[1] >= _CROSSABLE:
        return _by_number(draws.tokens, first, second, lost)
    return _by_halves(draws, first[:, 0], second[:, 0])


def between_choices(draws: Draws, *, lost: int = 0) -> Copying:
    """Test whether choices of one request are copies of each other.

    Neighbouring choices of one request are held against choices of two requests with the same prompt. No completion
    stands in two pairs: Fisher's test wants its trials independent and alike.

    Args:
        draws: As for `between_requests`.
        lost: As there.
    """
    strata = _strata(draws)
    half = len(draws.tokens) // 2
    within = np.arange(0, half - 1, 2)
    within = within[draws.slot[within] == draws.slot[within + 1]]
    # By prompt, then with the requests of a prompt taking turns, so that neighbours come from different requests.
    rest = np.arange(half, len(draws.tokens))
    turn = np.arange(len(rest)) - np.searchsorted(draws.slot[rest], draws.slot[rest])
    rest = rest[np.lexsort((draws.slot[rest], turn, strata[rest]))]
    first, second = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    strangers = (draws.slot[first] != draws.slot[second]) & (strata[first] == strata[second])
    first, second = first[strangers], second[strangers]
    # As many of each prompt and length on either side: a mixture of others would have other odds.
    inside, outside = _balanced(strata[within], strata[first])
    within, first, second = within[inside], first[outside], second[outside]
    if not len(within):
        return _NOTHING
    equal = int((draws.tokens[within] == draws.tokens[within + 1]).all(axis=1).sum())
    across = int((draws.tokens[first] == draws.tokens[second]).all(axis=1).sum())
    return Copying(
        pairs=len(within),
        equal=equal,
        p_value=excess_p(equal, len(within) + lost, across + lost, len(first) + lost),
        least_p=excess_p(len(within), len(within) + lost, across + lost, len(first) + lost),
        exact=True,
    )


Choices = Literal["independent", "copies", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Independence:
    """Whether completions may be taken for independent draws."""

    copied: str
    """A sentence about an arm whose requests are answered with copies; nothing where independence is not rejected."""
    requests_known: bool
    """Copies across requests would have been seen."""
    choices: Choices
    """Whether choices of one request are copies, in any arm; unknown while copies would not have been seen."""

    @property
    def settled(self) -> bool:
        """Whatever the answers are to each other would be known: bets on them may end a sample."""
        return not self.copied and self.requests_known and self.choices != "unknown"


def independence(draws: Mapping[Role, Draws], alpha: float) -> Independence:
    """Tell whether the completions of each arm are independent draws.

    Args:
        draws: completions of each arm.
        alpha: error level over all arms, of either kind of copies.
    """
    level = alpha / max(1, len(draws))
    requests = {role: between_requests(arm) for role, arm in draws.items()}
    choices = [between_choices(arm) for arm in draws.values() if _has_choices(arm)]
    copied = (
        f"The {role} gave the same answer to both requests in {found.equal} of {found.pairs} pairs that differ in "
        "their seeds, as a cache does: its answers are no independent draws."
        for role, found in requests.items()
        if found.p_value <= level
    )
    return Independence(
        copied=next(copied, ""),
        requests_known=all(found.least_p <= level for found in requests.values()),
        choices="copies"
        if any(found.p_value <= level for found in choices)
        else "independent"
        if all(found.least_p <= level for found in choices)
        else "unknown",
    )


def dependent_choices(check_id: str, choices: Choices) -> str:
    """Say why choices of one request are no independent draws, and what to do; nothing where they are."""
    change = f"set choices = 1 under [checks.{check_id}] of the suite."
    if choices == "copies":
        return f"Choices of one request are copies of each other: {change}"
    if choices == "unknown":
        return (
            "Choices of one request cannot be told from copies, with so few requests or so few different answers: "
            f"{change}"
        )
    return ""


def tellable_choices(wanted: int, completions: int, prompts: int) -> int:
    """Return how many choices a request may have, at most `wanted`, so that copies among them can be told.

    Args:
        wanted: Choices at most.
        completions: Of all prompts together.
        prompts: Of which each is asked in requests of its own.
    """
    return max(1, min(wanted, completions // (prompts * REQUESTS)))


def first_choices(draws: Draws) -> Draws:
    """One completion per request: choices of one request may be copies of each other."""
    first = np.unique(draws.slot, return_index=True)[1]
    return replace(
        draws,
        tokens=draws.tokens[first],
        prompt_index=draws.prompt_index[first],
        slot=draws.slot[first],
        asked=draws.asked[first],
        planned=max(len(first), round(len(first) / (1 - draws.lost_fraction))),
    )


def _has_choices(draws: Draws) -> bool:
    return len(np.unique(draws.slot)) < len(draws.slot)


def _strata(draws: Draws) -> NDArray[np.int64]:
    """A number for each prompt and length that was asked for `[N]`: only answers to like requests are compared."""
    like = draws.prompt_index * (draws.asked.max(initial=0) + 1) + draws.asked
    number: NDArray[np.int64] = np.unique(like, return_inverse=True)[1]
    return number


def _balanced(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first pairs of each stratum, as many on either side."""
    kept = []
    for mine, other in ((ours, theirs), (theirs, ours)):
        order = np.argsort(mine, kind="stable")
        place = np.arange(len(order)) - np.searchsorted(mine[order], mine[order])
        most = np.bincount(other, minlength=int(mine.max(initial=0)) + 1)
        kept.append(order[place < most[mine[order]]])
    return kept[0], kept[1]


def _by_request(draws: Draws) -> NDArray[np.int64]:
    """Rows of `draws` by request and choice `[R, n]`; requests that lost a choice are left out."""
    _, starts, counts = np.unique(draws.slot, return_index=True, return_counts=True)
    most = int(counts.max(initial=1))
    rows: NDArray[np.int64] = starts[counts == most][:, None] + np.arange(most)
    return rows


def _pairs(table: NDArray[np.int64], strata: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neighbouring requests of one stratum, each in one pair `[P, n]`."""
    order = np.argsort(strata, kind="stable")
    place = np.arange(len(order)) - np.searchsorted(strata[order], strata[order])
    begins = np.flatnonzero((place[:-1] % 2 == 0) & (strata[order][:-1] == strata[order][1:]))
    return table[order[begins]], table[order[begins + 1]]


def _by_number(tokens: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], lost: int) -> Copying:
    """Even choices are held against those of the same number, odd ones crosswise."""
    same = (tokens[first[:, ::2]] == tokens[second[:, ::2]]).all(axis=-1)
    odd = np.arange(1, first.shape[1], 2)
    odd = odd[: len(odd) // 2 * 2]
    crossed = (tokens[first[:, odd]] == tokens[second[:, odd.reshape(-1, 2)[:, ::-1].ravel()]]).all(axis=-1)
    across = int(crossed.sum())
    return Copying(
        pairs=len(same),
        equal=int(same.all(axis=1).sum()),
        p_value=excess_p(int(same.sum()), same.size + lost, across + lost, crossed.size + lost),
        least_p=excess_p(same.size, same.size + lost, across + lost, crossed.size + lost),
        exact=True,
    )


def _by_halves(draws: Draws, first: NDArray[np.int64], second: NDArray[np.int64]) -> Copying:
    agree = draws.tokens[first] == draws.tokens[second]
    favourite = _favourites(draws)
    halves = draws.asked[first] // 2
    kept = ~(favourite[first] | favourite[second]) & (halves >= _HALF)
    early = np.arange(agree.shape[1]) < halves[kept, None]
    begin, end = (agree[kept] | ~early).all(axis=1), (agree[kept] | early).all(axis=1)
    alike, unlike = int(begin.sum()), int((~begin).sum())
    p_value = 1.0
    if alike and unlike and proportion_lower(int(end[begin].sum()), alike, 1e-3) >= _SURELY:
        p_value = excess_p(int(end[begin].sum()), alike, int(end[~begin].sum()), unlike)
    # At best half of the pairs are copies: without others there is nothing to hold them against.
    copies = len(begin) // 2
    return Copying(
        pairs=len(agree),
        equal=int(agree.all(axis=1).sum()),
        p_value=p_value,
        least_p=excess_p(copies, copies, 0, len(begin) - copies) if copies else 1.0,
        exact=False,
    )


def _favourites(draws: Draws) -> NDArray[np.bool_]:
    """Which completions are the most common one of their prompt `[N]`."""
    answers, answer, counts = np.unique(
        np.column_stack([_strata(draws), draws.tokens]), axis=0, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-counts, answers[:, 0]))
    _, begins = np.unique(answers[order, 0], return_index=True)
    return np.isin(answer.ravel(), order[begins])
