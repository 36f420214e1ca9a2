"""Bets on pairs of completions, one of each arm, where the target's law is not known."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.betting import summed_up
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import PILOT, SAMPLE, completion_length, word_depths
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.finding import Betting
from specaudit.model.request import Token
from specaudit.stats.evalues.pairs import PairProcess

_RANKS = 4
"""Cells of a token: the pilot's three most frequent ones at its prompt and position, and all others."""

Ranks = dict[tuple[int, int], dict[Token, int]]
"""Cell of each frequent token, by prompt and position."""


def bet_on_pairs(settings: LawSettings, evidence: Evidence, *, alpha: float, grouped: bool) -> Betting | None:
    """Bet that the arms differ, on two neighbouring tokens of each pair at several depths; None without a pilot.

    A pair is the k-th completion of each arm to one prompt in one round. Each partition looks at one place of it: the
    places of a free-running completion must not be multiplied.

    Args:
        settings: The check's.
        evidence: What was collected so far.
        alpha: The bet's share of the error budget.
        grouped: Whether choices of one request may be copies: then only the first of each counts.
    """
    if PILOT not in evidence.stages or "reference" not in (pilot := evidence.draws(PILOT)):
        return None
    subject = evidence.capabilities["subject"]
    last = completion_length(settings, subject) - 2
    depths = sorted({min(depth + i, last) for depth in word_depths(settings, subject) for i in (0, 1)})
    ranks = _ranks(pilot["reference"], {depth + i for depth in depths for i in (0, 1)})
    process = PairProcess({f"tokens {depth + 1} and {depth + 2}": _RANKS**2 for depth in depths})
    pairs = 0
    for stage in evidence.parts(SAMPLE):
        draws = evidence.draws(stage)
        if any(arm.lost_fraction for arm in draws.values()):
            break  # what was lost may have been chosen, and what came back was then chosen by being kept
        if {"subject", "reference"} <= draws.keys():
            ours, theirs = _paired(draws["subject"], draws["reference"], grouped)
            if len(ours):
                process.fold(
                    _cells(draws["subject"], ours, depths, ranks), _cells(draws["reference"], theirs, depths, ranks)
                )
                pairs += len(ours)
    return summed_up(process, [completion_length(settings, subject)] * pairs, alpha) if pairs else None


def _ranks(pilot: Draws, positions: set[int]) -> Ranks:
    ranks: Ranks = {}
    for prompt in np.unique(pilot.prompt_index).tolist():
        rows = pilot.tokens[pilot.prompt_index == prompt]
        for position in positions:
            counts = Counter(rows[:, position].tolist())
            first = sorted(counts, key=lambda code: (-counts[code], code))[: _RANKS - 1]
            ranks[prompt, position] = {_token(pilot, code): rank for rank, code in enumerate(first)}
    return ranks


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


def _cells(draws: Draws, rows: NDArray[np.int64], depths: list[int], ranks: Ranks) -> NDArray[np.int64]:
    """Cell of each row at each depth `[N, P]`."""
    cells = np.zeros((len(rows), len(depths)), dtype=np.int64)
    for prompt in np.unique(draws.prompt_index[rows]).tolist():
        mine = np.flatnonzero(draws.prompt_index[rows] == prompt)
        tokens = draws.tokens[rows[mine]]
        for place, depth in enumerate(depths):
            first, second = (_ranked(draws, tokens[:, depth + i], ranks[prompt, depth + i]) for i in (0, 1))
            cells[mine, place] = first * _RANKS + second
    return cells


def _ranked(draws: Draws, codes: NDArray[np.int64], ranks: dict[Token, int]) -> NDArray[np.int64]:
    # END is -1 and finds the last entry.
    table = np.array([ranks.get(token, _RANKS - 1) for token in (*draws.vocabulary, END)], dtype=np.int64)
    return table[codes]
