"""Covering arrays: few combinations of many factors, in which every pair of their levels occurs."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

Pair = tuple[int, int, int, int]
"""First factor and its level, second factor and its level."""

_ORDERS = 4
"""Orders of factors that are tried; the shortest array is taken."""


def pairs(levels: Sequence[int]) -> set[Pair]:
    """Return every pair of levels of two factors.

    Args:
        levels: Number of levels of each factor.
    """
    return {
        (first, a, second, b)
        for first, second in combinations(range(len(levels)), 2)
        for a in range(levels[first])
        for b in range(levels[second])
    }


def covering_array(levels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return rows of levels in which every pair of levels of any two factors occurs; the first row holds level 0 only.

    Row by row, each factor takes the level that completes most pairs that are still missing: a greedy construction,
    not the shortest that there is. The same levels always give the same rows.

    Source: Cohen, Dalal, Fredman, Patton, "The AETG system: an approach to testing based on combinatorial design",
    IEEE Transactions on Software Engineering 1997.

    Args:
        levels: Number of levels of each factor, at least 1.

    Raises:
        ValueError: a factor has no level.
    """
    if any(count < 1 for count in levels):
        raise ValueError(f"every factor needs a level, got {list(levels)}")
    if len(levels) < 2:
        return tuple((level,) for level in range(levels[0])) if levels else ((),)
    fewest = prod(sorted(levels)[-2:])
    found: list[tuple[tuple[int, ...], ...]] = []
    for order in _orders(levels):
        found.append(_greedy(levels, order))
        if len(found[-1]) == fewest:
            break
    return min(found, key=len)


def _orders(levels: Sequence[int]) -> Iterator[list[int]]:
    """Orders in which a row's factors are chosen: the longest first, then that order turned."""
    longest = sorted(range(len(levels)), key=lambda factor: -levels[factor])
    for turn in range(min(_ORDERS, len(levels))):
        yield longest[turn:] + longest[:turn]


def _greedy(levels: Sequence[int], order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    missing = pairs(levels)
    rows: list[tuple[int, ...]] = []
    row: dict[int, int] = dict.fromkeys(range(len(levels)), 0)
    while True:
        rows.append(tuple(row[factor] for factor in range(len(levels))))
        missing -= {_pair(*two) for two in combinations(sorted(row.items()), 2)}
        if not missing:
            return tuple(rows)
        row = _next_row(levels, order, missing, len(rows))


def _next_row(levels: Sequence[int], order: Sequence[int], missing: set[Pair], number: int) -> dict[int, int]:
    """Begin with a pair that is missing, and take for each other factor the level that completes most pairs."""
    first, a, second, b = min(missing, key=lambda pair: (order.index(pair[0]), order.index(pair[2]), pair[1], pair[3]))
    row = {first: a, second: b}
    for factor in order:
        if factor not in row:
            gained = [
                sum(_pair((factor, level), chosen) in missing for chosen in row.items())
                for level in range(levels[factor])
            ]
            # Of equals another one each time, so that levels with nothing left to complete take turns.
            turned = [(gained[level], -((level - number) % levels[factor]), level) for level in range(levels[factor])]
            row[factor] = max(turned)[2]
    return row


def _pair(one: tuple[int, int], other: tuple[int, int]) -> Pair:
    (first, a), (second, b) = sorted((one, other))
    return first, a, second, b
