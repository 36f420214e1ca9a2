"""Bets on pairs of completions, one of each arm, where the target's law is not known."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.betting import summed_up
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import PILOT, SAMPLE, completion_length, word_depths
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.finding import Betting
from specaudit.model.plan import Role
from specaudit.model.request import Token
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.sequences import SequencePairs

_ARMS: tuple[Role, ...] = ("subject", "reference")

_RANKS = 4
"""Cells of a token: the pilot's three most frequent ones at its prompt and position, and all others."""

_STATES = 8
"""States of a token among all of its completion: the pilot's seven most frequent ones at its prompt, and all others."""

_SPAN = 4096
"""Pairs that are bet on together; it bounds the memory."""

Rows = NDArray[np.int64]
"""Ranks of the tokens of completions `[N, T]`."""

Ranks = dict[tuple[int, int], dict[Token, int]]
"""Cell of each frequent token, by prompt and position."""


def bet_on_pairs(settings: LawSettings, evidence: Evidence, *, alpha: float, grouped: bool) -> Betting | None:
    """Bet that the arms differ, on what pairs of completions look like; None without a pilot.

    A pair is the k-th completion of each arm to one prompt in one round. A partition looks at two neighbouring tokens
    at one depth, since the places of a free-running completion must not be multiplied; other bets look at all of it as
    one draw (`SequencePairs`).

    Args:
        settings: The check's.
        evidence: What was collected so far.
        alpha: The bet's share of the error budget.
        grouped: Whether choices of one request may be copies: then only the first of each counts.
    """
    if PILOT not in evidence.stages or "reference" not in (pilot := evidence.draws(PILOT)):
        return None
    subject = evidence.capabilities["subject"]
    length = completion_length(settings, subject)
    depths = sorted({min(depth + i, length - 2) for depth in word_depths(settings, subject) for i in (0, 1)})
    ranks, states = _ranks(pilot["reference"], range(length)), _states(pilot["reference"], range(length))
    whole = SequencePairs(_STATES)
    process = PairProcess({f"tokens {depth + 1} and {depth + 2}": _RANKS**2 for depth in depths}, others=whole.names)
    pairs = 0
    for stage in evidence.parts(SAMPLE):
        draws = evidence.draws(stage)
        if any(arm.lost_fraction for arm in draws.values()):
            break  # what was lost may have been chosen, and what came back was then chosen by being kept
        if not {"subject", "reference"} <= draws.keys():
            continue
        rows = _paired(draws["subject"], draws["reference"], grouped)
        if not len(rows[0]):
            continue
        arms = [(draws[role], mine) for role, mine in zip(_ARMS, rows, strict=True)]
        ours, theirs = (_cells(_ranked(arm, mine, ranks, length, _RANKS), depths) for arm, mine in arms)
        earned = whole.fold(*(_ranked(arm, mine, states, length, _STATES) for arm, mine in arms))
        for first in range(0, len(earned), _SPAN):
            span = slice(first, first + _SPAN)
            process.fold(ours[span], theirs[span], others=earned[span])
        pairs += len(rows[0])
    return summed_up(process, [length] * pairs, alpha) if pairs else None


def _ranks(pilot: Draws, positions: Iterable[int]) -> Ranks:
    """The most frequent tokens of each prompt at each position."""
    ranks: Ranks = {}
    for prompt in np.unique(pilot.prompt_index).tolist():
        rows = pilot.tokens[pilot.prompt_index == prompt]
        for position in positions:
            counts = Counter(rows[:, position].tolist())
            first = sorted(counts, key=lambda code: (-counts[code], code))[: _RANKS - 1]
            ranks[prompt, position] = {_token(pilot, code): rank for rank, code in enumerate(first)}
    return ranks


def _states(pilot: Draws, positions: Iterable[int]) -> Ranks:
    """The most frequent tokens of each prompt, at every position the same."""
    states: Ranks = {}
    for prompt in np.unique(pilot.prompt_index).tolist():
        counts = Counter(pilot.tokens[pilot.prompt_index == prompt].ravel().tolist())
        first = sorted(counts, key=lambda code: (-counts[code], code))[: _STATES - 1]
        found = {_token(pilot, code): state for state, code in enumerate(first)}
        states.update({(prompt, position): found for position in positions})
    return states


def _token(draws: Draws, code: int) -> Token:
    return END if code == END else draws.vocabulary[code]


def _paired(ours: Draws, theirs: Draws, grouped: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the k-th completion of each arm to each prompt, prompt by prompt."""
    found = []
    for prompt in np.intersect1d(ours.prompt_index, theirs.prompt_index):
        rows = [_rows(draws, int(prompt), grouped) for draws in (ours, theirs)]
        size = min(map(len, rows))
        found.append([one[:size] for one in rows])
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _rows(draws: Draws, prompt: int, grouped: bool) -> NDArray[np.int64]:
    rows = np.flatnonzero(draws.prompt_index == prompt)
    return rows[np.unique(draws.slot[rows], return_index=True)[1]] if grouped else rows


def _ranked(draws: Draws, rows: NDArray[np.int64], ranks: Ranks, length: int, size: int) -> Rows:
    """Which of `size` cells every token of some completions is in `[N, T]`; those that have none are in the last."""
    found = np.zeros((len(rows), length), dtype=np.int64)
    code = {token: number for number, token in enumerate(draws.vocabulary)} | {END: END}
    for prompt in np.unique(draws.prompt_index[rows]).tolist():
        mine = np.flatnonzero(draws.prompt_index[rows] == prompt)
        tokens = draws.tokens[rows[mine]]
        for position in range(length):
            table = np.full(len(draws.vocabulary) + 1, size - 1, dtype=np.int64)
            for token, cell in ranks[prompt, position].items():
                if token in code:
                    table[code[token]] = cell  # END is -1 and finds the last entry
            found[mine, position] = table[tokens[:, position]]
    return found


def _cells(rows: Rows, depths: list[int]) -> NDArray[np.int64]:
    """Cell of each completion in each partition `[N, P]`."""
    return np.column_stack([rows[:, depth] * _RANKS + rows[:, depth + 1] for depth in depths])
