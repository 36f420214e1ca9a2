"""What LAW1, LAW3, LAW5 and LAW6 decide by beyond single tests: many cells, several comparisons, shared contexts.

A whole audit of these checks is costly; its decisions are made here of draws from exact laws, with the shares of the
error budget that the checks give them.
"""

from collections.abc import Mapping
from math import ceil

import numpy as np
import numpy.typing as npt

from specaudit.calibrate.nulls.bounds import at_the_tolerance
from specaudit.calibrate.nulls.method import BINS, EXCEEDANCES, TOLERANCE, Array, Audit, NullMethod, missed, softmax
from specaudit.checks.law5.cells import cells
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.checks.law6.parts import PLANNED
from specaudit.stats.budget import combined_p
from specaudit.stats.clusters import compare_clusters
from specaudit.stats.distance import tv_upper_bound
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.sequences import SequencePairs
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.matched import compare_matched

_RNG = np.random.default_rng(0)
_LOGITS = 1.5 * _RNG.normal(size=(12, 8))
FULL = softmax(_LOGITS)
QUANTISED = softmax(np.round(2 * _LOGITS) / 2)
"""Laws of eight tokens in twelve contexts, of logits in full precision and rounded to halves `[12, 8]`."""

_CELLS = len(cells(MatrixSettings()))
_WORDS = _RNG.dirichlet(np.full(16, 0.8), _CELLS)
"""A law of words for each cell of the matrix `[16, 16]`."""

_RANK_BINS = 16

Tokens = npt.NDArray[np.int64]


def _drawn(rng: np.random.Generator, laws: Array, context: Tokens) -> Tokens:
    """A token of each context's law `[N]`."""
    drawn: Tokens = (laws.cumsum(axis=1)[context, :-1] < rng.random((len(context), 1))).sum(axis=1)
    return drawn


def _rule(level: float) -> dict[str, int]:
    """Draws behind a p-value of a test that has that level."""
    return {"draws": ceil(10 / level), "stop_after": EXCEEDANCES}


def _matrix(rng: np.random.Generator, level: float) -> float:
    """LAW5: in each of 16 cells bets and the whole sample, each with its share; the smallest p-value accuses."""
    found = []
    for law in _WORDS:
        words = rng.choice(len(law), size=(2, 60), p=law)
        process = PairProcess({"words": len(law)})
        process.fold(words[0][:, None], words[1][:, None])
        counts = [np.bincount(row, minlength=len(law)) for row in words]
        sample = homogeneity([counts[0]], [counts[1]], rng=rng, **_rule(level / _CELLS / 2)).monte_carlo
        assert sample is not None
        found.append(combined_p({"bets": process.value().p_value, "sample": sample.p_value}))
    return min(1.0, _CELLS * min(found))


def _cell_at_the_tolerance(spread: bool) -> Audit:
    """LAW5: one cell at the tolerance, its completions of eight words that often repeat; all others would conform."""
    law = at_the_tolerance(spread)

    def words(rng: np.random.Generator, law: Array) -> Array:
        draws = rng.choice(len(law), size=(400, 8), p=law)
        for place in range(1, 8):
            same = rng.random(400) < 0.3
            draws[same, place] = draws[same, place - 1]
        counts: Array = (draws[..., None] == np.arange(len(law))).sum(axis=1).astype(np.float64)
        return counts

    def audit(rng: np.random.Generator, level: float) -> float:
        return missed(compare_clusters([words(rng, law)], [words(rng, BINS)]).upper_bound(level) < TOLERANCE)

    return audit


def _follows(laws: Array) -> Audit:
    """LAW6: a subject that follows these laws, in one of three comparisons by bets and in bins of rank."""
    table = ContextTable(p=laws)
    portfolio = Portfolio(table)
    scored = portfolio.score(table)
    order = np.argsort(-laws, axis=1, kind="stable")
    ranked = np.take_along_axis(laws, order, axis=1)
    before = np.empty_like(laws)
    np.put_along_axis(before, order, ranked.cumsum(axis=1) - ranked, axis=1)
    uniform = np.full(_RANK_BINS, 1 / _RANK_BINS)
    completions, length = 20, 15
    ones = np.ones(completions, dtype=np.intp)

    def audit(rng: np.random.Generator, level: float) -> float:
        context = rng.integers(len(laws), size=completions * length)
        cell, u = _drawn(rng, laws, context), rng.random(len(context))
        process = Process(portfolio)
        process.fold(
            scored,
            Completions(context=context, cell=cell, uniform=u, lengths=length * ones, lost=0 * ones, groups=ones),
        )
        points = np.minimum(before[context, cell] + u * laws[context, cell], np.nextafter(1, 0))
        counts = np.bincount((points * _RANK_BINS).astype(int), minlength=_RANK_BINS)
        sample = goodness_of_fit([counts], [uniform], rng=rng, **_rule(level / PLANNED / 2)).monte_carlo
        assert sample is not None
        return min(1.0, PLANNED * combined_p({"bets": process.value().p_value, "sample": sample.p_value}))

    return audit


def _ranks_at_the_tolerance(spread: bool) -> Audit:
    """LAW6: a subject whose law is in bins of rank exactly at the tolerance from the one that it is said to follow."""
    uniform = np.full(_RANK_BINS, 1 / _RANK_BINS)
    sign = np.where(np.arange(_RANK_BINS) % 2, 1.0, -1.0)
    moved = sign / _RANK_BINS if spread else np.eye(_RANK_BINS)[0] - np.eye(_RANK_BINS)[-1]
    law = uniform + (2 if spread else 1) * TOLERANCE * moved

    def audit(rng: np.random.Generator, level: float) -> float:
        test = goodness_of_fit([rng.multinomial(2000, law)], [uniform])
        return missed(tv_upper_bound(test, delta=level) < TOLERANCE)

    return audit


def _side_by_side(rng: np.random.Generator, level: float) -> float:
    """LAW3 without logprobs: both arms draw in the same contexts, and are tested as two samples."""
    context = rng.integers(len(FULL), size=200)
    ours, theirs = (np.bincount(_drawn(rng, FULL, context), minlength=FULL.shape[1]) for _ in range(2))
    found = homogeneity([ours], [theirs], rng=rng, **_rule(level)).monte_carlo
    assert found is not None
    return found.p_value


def _side_by_side_at_the_tolerance(spread: bool) -> Audit:
    """LAW3 without logprobs: in cells of tokens the laws are on average exactly at the tolerance."""
    size = FULL.shape[1]
    sign = np.where(np.arange(size) % 2, 1.0, -1.0) if spread else np.eye(size)[0] - np.eye(size)[1]
    up, down = (np.where(sign * side > 0, FULL, 0).sum(axis=1, keepdims=True) for side in (1, -1))
    moved = np.minimum(up, down)
    laws = FULL + TOLERANCE / moved.mean() * moved * FULL * np.where(sign > 0, 1 / up, np.where(sign < 0, -1 / down, 0))

    def audit(rng: np.random.Generator, level: float) -> float:
        context = rng.integers(len(FULL), size=2000)
        found = compare_matched(_drawn(rng, laws, context), _drawn(rng, FULL, context), size)
        return missed(found.upper_bound(level) < TOLERANCE)

    return audit


def _sequences(rng: np.random.Generator, level: float) -> float:
    """LAW1 without logprobs: pairs of completions of a chain, at one depth and as a whole."""
    bets = SequencePairs(FULL.shape[1])
    process = PairProcess({"first": FULL.shape[1]}, others=bets.names)
    tokens = np.zeros((6, 200), dtype=np.int64)
    for place in range(6):
        tokens[place] = _drawn(rng, FULL, tokens[place - 1] if place else tokens[0])
    rows = tokens.T
    process.fold(rows[:100, :1], rows[100:, :1], others=bets.fold(rows[:100], rows[100:]))
    return process.value().p_value


def _at_the_tolerance() -> dict[str, NullMethod]:
    kinds = {"two cells": False, "all cells": True}
    makers = {
        "LAW3: bound by draws in the same contexts": _side_by_side_at_the_tolerance,
        "LAW5: bound of a cell, words of a completion": _cell_at_the_tolerance,
        "LAW6: bound in bins of rank": _ranks_at_the_tolerance,
    }
    return {
        f"{name}, {kind}": NullMethod(audit=make(spread), error="false conforms")
        for name, make in makers.items()
        for kind, spread in kinds.items()
    }


METHODS: Mapping[str, NullMethod] = {
    "LAW1: bets on pairs of completions": NullMethod(audit=_sequences),
    "LAW3: draws in the same contexts": NullMethod(audit=_side_by_side),
    f"LAW5: {_CELLS} cells that share the budget": NullMethod(audit=_matrix),
    "LAW6: the quantised law is followed": NullMethod(audit=_follows(QUANTISED)),
    "LAW6: the law of full precision is followed": NullMethod(audit=_follows(FULL)),
    **_at_the_tolerance(),
}
