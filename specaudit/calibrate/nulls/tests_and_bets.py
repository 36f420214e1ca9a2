"""Tests and bets, of healthy subjects: a p-value within the level is a false alarm."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from specaudit.calibrate.nulls.method import BINS, Array, Audit, NullMethod, missed, simulated, softmax
from specaudit.stats.betting import mean_interval
from specaudit.stats.budget import holm
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.witness import anytime_tv_lower_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.homogeneity import homogeneity
from specaudit.stats.intervals import excess_p, ratio_interval
from specaudit.stats.mmd import hamming_mmd
from specaudit.stats.montecarlo import MonteCarlo
from specaudit.stats.ties import LIMITS, flip_floor, triage


def _goodness(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    return goodness_of_fit([rng.multinomial(300, BINS)], [BINS], rng=rng, **rule).monte_carlo


def _homogeneity(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    """Two prompts whose laws differ, asked unequally often."""
    first, second = ([rng.multinomial(n, BINS), rng.multinomial(m, BINS[::-1])] for n, m in ((200, 50), (50, 200)))
    return homogeneity(first, second, rng=rng, **rule).monte_carlo


def _model_equality(rng: np.random.Generator, rule: dict[str, Any]) -> MonteCarlo | None:
    """Three prompts, eight ragged completions each, by Hamming MMD."""
    prompts = np.repeat(np.arange(3), 8)
    tokens = np.where(rng.random((2, 24, 12)) < 0.7, prompts[:, None], rng.integers(3, 6, size=(2, 24, 12)))
    first, second = np.where(np.arange(12) < rng.integers(4, 13, size=(2, 24, 1)), tokens, -1)
    return hamming_mmd(first, second, prompts, prompts, rng=rng, **rule).monte_carlo


def _portfolio() -> Audit:
    """25 completions of 6 tokens in random contexts, against 12 laws with q and the raw law known."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(12, 6))
    laws = ContextTable(
        p=softmax(logits), q=softmax(logits + 0.7 * rng.normal(size=(12, 6))), raw=softmax(0.8 * logits)
    )
    portfolio = Portfolio(laws)
    scored, cumulative = portfolio.score(laws), laws.p.cumsum(axis=1)[:, :-1]
    ones = np.ones(25, dtype=np.intp)

    def audit(rng: np.random.Generator, level: float) -> float:
        context = rng.integers(12, size=150)
        completions = Completions(
            context=context,
            cell=(cumulative[context] < rng.random((150, 1))).sum(axis=1),
            uniform=rng.random(150),
            lengths=6 * ones,
            lost=0 * ones,
            groups=ones,
        )
        process = Process(portfolio)
        process.fold(scored, completions)
        return process.value().p_value

    return audit


def _pairs(rng: np.random.Generator, level: float) -> float:
    process = PairProcess({"rank": len(BINS), "first": 2})
    arms = rng.choice(len(BINS), size=(2, 200), p=BINS)
    process.fold(*np.stack([arms, arms == 0], axis=2).astype(int))
    return process.value().p_value


def _witness(rng: np.random.Generator, level: float) -> float:
    cells = rng.choice(len(BINS), size=(200, 1), p=BINS)
    return missed(anytime_tv_lower_bound(cells, [BINS], delta=level) > 0)


def _mean(rng: np.random.Generator, level: float) -> float:
    interval = mean_interval(rng.random(200) < 0.3, level)
    return missed(not interval.low <= 0.3 <= interval.high)


def _holm(rng: np.random.Generator, level: float) -> float:
    """Five healthy checks whose p-values go together, and one at fault."""
    shared = rng.random()
    p_values = {str(i): shared if rng.random() < 0.5 else rng.random() for i in range(5)}
    return missed(bool(holm(p_values | {"fault": 0.0}, level).rejected - {"fault"}))


def _copies(rng: np.random.Generator, level: float) -> float:
    return excess_p(int(rng.binomial(500, 0.02)), 500, int(rng.binomial(800, 0.02)), 800)


def _acceptance(rng: np.random.Generator, level: float) -> float:
    drafts = rng.integers(200, 400, size=40)
    interval = ratio_interval(rng.binomial(drafts, rng.beta(70, 30, size=40)), drafts, 1 - level)
    return missed(not interval.low <= 0.7 <= interval.high)


def _looking_again(rng: np.random.Generator, level: float) -> float:
    """The smallest p-value of a chi-square test looked at after every 20 of 400 words, none of the looks paid for."""
    from scipy.special import chdtrc

    counts = rng.multinomial(20, BINS, size=20).cumsum(axis=0)
    expected = counts.sum(axis=1, keepdims=True) * BINS
    return float(chdtrc(len(BINS) - 1, ((counts - expected) ** 2 / expected).sum(axis=1)).min())


def _flips(rng: np.random.Generator, level: float) -> float:
    """300 positions of greedy decoding against two floors, the higher of which they share."""

    def positions(count: int, rates: Array) -> tuple[Array, Array]:
        margins = rng.exponential(0.7, size=count)
        flipped = rng.random(count) < np.append(rates, 0.0)[np.searchsorted(LIMITS, margins)]
        return np.where(flipped, margins, 0.0), margins

    high = np.array([0.3, 0.1, 0.03, 0.01, 0.001, 0.0001])
    floors = [flip_floor(*positions(1000, high)), flip_floor(*positions(1000, high / 3))]
    return triage(*positions(300, high), floors, level).p_value


METHODS: Mapping[str, NullMethod] = {
    "chi-square of a known law": NullMethod(audit=simulated(_goodness), uniform=True),
    "chi-square of two arms": NullMethod(audit=simulated(_homogeneity), uniform=True),
    "Hamming MMD of two arms": NullMethod(audit=simulated(_model_equality), uniform=True),
    "portfolio of bets": NullMethod(audit=_portfolio()),
    "bets on pairs": NullMethod(audit=_pairs),
    "anytime lower bound of TV": NullMethod(audit=_witness),
    "anytime interval of a mean": NullMethod(audit=_mean),
    "Holm over dependent checks": NullMethod(audit=_holm),
    "Fisher's test of copies": NullMethod(audit=_copies),
    "acceptance over windows": NullMethod(audit=_acceptance),
    "flips against noise floors": NullMethod(audit=_flips),
    "chi-square looked at again and again": NullMethod(audit=_looking_again, negative_control=True),
}
