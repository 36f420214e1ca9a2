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

_ARMS: tuple[Role, ...] = ("subject", "reference")

_RANKS = 4
"""Cells of a token: the pilot's three most frequent ones at its prompt and position, and all others."""

_BINS = 8
"""Cells of whole completions."""

_CHUNK = 32
"""Pairs after which transitions are learnt."""

_SPAN = 4096
"""Pairs that are bet on together; a multiple of a chunk. It bounds the memory."""

_PRIOR = 2.0
"""Transitions of every kind that are taken for seen in both arms, which shrinks what few pairs suggest."""

_RECENT = 1024
"""Completions whose likelihoods settle the bins."""

Rows = NDArray[np.int64]
"""Ranks of the tokens of completions `[N, T]`."""

Ranks = dict[tuple[int, int], dict[Token, int]]
"""Cell of each frequent token, by prompt and position."""


def bet_on_pairs(settings: LawSettings, evidence: Evidence, *, alpha: float, grouped: bool) -> Betting | None:
    """Bet that the arms differ, on what pairs of completions look like; None without a pilot.

    A pair is the k-th completion of each arm to one prompt in one round. A partition looks at two neighbouring tokens
    at one depth, since the places of a free-running completion must not be multiplied; one more looks at all of it,
    see `_Resemblance`.

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
    ranks = _ranks(pilot["reference"], range(length))
    process = PairProcess(
        {f"tokens {depth + 1} and {depth + 2}": _RANKS**2 for depth in depths} | {"all tokens": _BINS}
    )
    whole = _Resemblance()
    pairs = 0
    for stage in evidence.parts(SAMPLE):
        draws = evidence.draws(stage)
        if any(arm.lost_fraction for arm in draws.values()):
            break  # what was lost may have been chosen, and what came back was then chosen by being kept
        if {"subject", "reference"} <= draws.keys():
            rows = _paired(draws["subject"], draws["reference"], grouped)
            ours, theirs = (_ranked(draws[role], mine, ranks, length) for role, mine in zip(_ARMS, rows, strict=True))
            for first in range(0, len(ours), _SPAN):
                span = ours[first : first + _SPAN], theirs[first : first + _SPAN]
                process.fold(*(_cells(arm, depths, seen) for arm, seen in zip(span, whole.follow(*span), strict=True)))
            pairs += len(ours)
    return summed_up(process, [length] * pairs, alpha) if pairs else None


class _Resemblance:
    """A partition of completions by how much they resemble the subject's of before rather than the reference's.

    The transitions between ranks that were counted in earlier pairs give every completion the logarithm of a ratio of
    likelihoods, and the bins are quantiles of those: all tokens of a completion speak together. Whatever the counts
    are, the cell of a completion is settled before it comes in, so that bets on it are fair.
    """

    def __init__(self) -> None:
        self._counts = np.full((2, _RANKS + 1, _RANKS), _PRIOR)
        self._recent = np.empty((2, 0, 0), dtype=np.int64)

    def follow(self, ours: Rows, theirs: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cells of the next pairs in either arm, each `[N]`, chunk by chunk as what was before is learnt."""
        steps = [np.stack([_before(rows), rows]) for rows in (ours, theirs)]
        cells = np.zeros((2, len(ours)), dtype=np.int64)
        for first in range(0, len(ours), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            if self._recent.size:
                laws = np.log(self._counts / self._counts.sum(axis=2, keepdims=True))
                ratio = laws[0] - laws[1]
                quantiles = np.quantile(_scores(ratio, self._recent), np.arange(1, _BINS) / _BINS)
                for arm, rows in enumerate(steps):
                    cells[arm, chunk] = np.searchsorted(quantiles, _scores(ratio, rows[:, chunk]))
            self._learn([rows[:, chunk] for rows in steps])
        return cells[0], cells[1]

    def _learn(self, steps: list[Rows]) -> None:
        """Count the transitions `[2, N, T]` of pairs whose cells are settled."""
        for counts, (before, rows) in zip(self._counts, steps, strict=True):
            np.add.at(counts, (before, rows), 1)
        kept = [part for part in (self._recent, *steps) if part.size]
        self._recent = np.concatenate(kept, axis=1)[:, -_RECENT:]


def _scores(ratio: NDArray[np.float64], steps: Rows) -> NDArray[np.float64]:
    """The logarithm of a ratio of likelihoods `[N]` of completions, from their transitions `[2, N, T]`."""
    scores: NDArray[np.float64] = ratio[steps[0], steps[1]].sum(axis=1)
    return scores


def _before(rows: Rows) -> Rows:
    """The rank before each token, one of its own for the first `[N, T]`."""
    return np.column_stack([np.full(len(rows), _RANKS), rows[:, :-1]])


def _ranks(pilot: Draws, positions: Iterable[int]) -> Ranks:
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


def _ranked(draws: Draws, rows: NDArray[np.int64], ranks: Ranks, length: int) -> Rows:
    """Rank in the pilot of every token of some completions `[N, T]`."""
    found = np.zeros((len(rows), length), dtype=np.int64)
    for prompt in np.unique(draws.prompt_index[rows]).tolist():
        mine = np.flatnonzero(draws.prompt_index[rows] == prompt)
        tokens = draws.tokens[rows[mine]]
        for position in range(length):
            told = ranks[prompt, position]
            # END is -1 and finds the last entry.
            table = np.array([told.get(token, _RANKS - 1) for token in (*draws.vocabulary, END)], dtype=np.int64)
            found[mine, position] = table[tokens[:, position]]
    return found


def _cells(rows: Rows, depths: list[int], whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cell of each completion in each partition `[N, P]`."""
    pairs = [rows[:, depth] * _RANKS + rows[:, depth + 1] for depth in depths]
    return np.column_stack([*pairs, whole])
