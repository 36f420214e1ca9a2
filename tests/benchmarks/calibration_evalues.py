"""False alarms of every e-process, measured. Run it: python -m tests.benchmarks.calibration_evalues [METHOD…].

The rule: at a level of .05, 2,000 audits under the null may give at most 131 alarms, at 1e-3, 20,000 audits at most 35;
more has a probability below 1e-3. As the level .05 is reached whenever 1e-3 is, one set of 20,000 audits serves for
both, the first 2,000 for the former. The baseline in the same run is the naive method that all this is for: a
chi-square test at a level of .05 repeated after every few words, which the rule has to catch.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.special import chdtrc

from specaudit.stats.betting import mean_interval
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.witness import anytime_tv_lower_bound
from specaudit.stats.evalues.words import Words
from tests.stats.evalues.worlds import draw, table

AUDITS, MOST, STRICT_AUDITS, STRICT_MOST = 2000, 131, 20_000, 35
LEVEL, STRICT_LEVEL = 0.05, 1e-3
LAWS = table(raw=True)
WORDS = np.random.default_rng(0).dirichlet(np.ones(8))
BINS = np.random.default_rng(1).dirichlet(np.ones(16))

Audit = Callable[[np.random.Generator], float]
"""Runs one audit under the null; gives its anytime p-value, or the number that stands for one."""


def portfolio_audit(laws: ContextTable, subject: np.ndarray, **options: object) -> Audit:
    """Audits of 25 completions of 6 tokens drawn from `subject`, in groups of one."""
    portfolio = Portfolio(laws, **options)
    scored = portfolio.score(laws)

    def audit(rng: np.random.Generator) -> float:
        process = Process(portfolio)
        words = None
        if portfolio.words is not None:
            cell = rng.choice(len(WORDS), size=(25, 1), p=WORDS)
            words = Words(stratum=np.zeros_like(cell), cell=cell)
        process.fold(scored, draw(subject, rng, 25, 6), words)
        return process.value().p_value

    return audit


def at_the_edge_of_the_band(laws: np.ndarray, slack: float) -> np.ndarray:
    """The law of the band that leans most towards the drafter's."""
    order = np.argsort(LAWS.p / LAWS.q, axis=1)
    p = np.take_along_axis(laws, order, axis=1)
    up = np.clip(1 / (1 + np.exp(slack)) - (p.cumsum(axis=1) - p), 0, p)
    moved = np.empty_like(laws)
    np.put_along_axis(moved, order, np.exp(slack) * up + np.exp(-slack) * (p - up), axis=1)
    return moved


def edge_audit() -> Audit:
    """A third of the nucleus is an edge cell, and the subject never emits it."""
    edge = np.zeros(LAWS.p.shape, dtype=bool)
    edge[:, 4:] = True
    subject = LAWS.p * ~edge
    return portfolio_audit(ContextTable(p=LAWS.p, q=LAWS.q, edge=edge), subject / subject.sum(axis=1, keepdims=True))


def copies_audit() -> Audit:
    """Four identical choices a request, folded as one group."""
    laws = ContextTable(p=LAWS.p, q=LAWS.q)
    portfolio = Portfolio(laws)
    scored = portfolio.score(laws)
    choice = (np.repeat(np.arange(25), 4)[:, None] * 6 + np.arange(6)).ravel()
    ones = np.ones(100, dtype=int)

    def audit(rng: np.random.Generator) -> float:
        process, single = Process(portfolio), draw(LAWS.p, rng, 25, 6)
        copies = Completions(
            context=single.context[choice],
            cell=single.cell[choice],
            uniform=single.uniform[choice],
            lengths=6 * ones,
            lost=0 * ones,
            groups=4 * ones[:25],
        )
        process.fold(scored, copies)
        return process.value().p_value

    return audit


def pairs_audit(rng: np.random.Generator) -> float:
    """Two arms with one law in 16 bins, and with its first bin alone."""
    process = PairProcess({"rank": 16, "first": 2})
    arms = rng.choice(16, size=(2, 200), p=BINS)
    process.fold(*np.stack([arms, arms == 0], axis=2).astype(int))
    return process.value().p_value


def mean_audit(rng: np.random.Generator) -> float:
    """The levels at which the interval of a mean of .3 misses it; the laxer one is looked for first."""
    values = rng.random(200) < 0.3
    for level in (LEVEL, STRICT_LEVEL):
        interval = mean_interval(values, level)
        if interval.low <= 0.3 <= interval.high:
            return 1.0 if level == LEVEL else LEVEL
    return STRICT_LEVEL


def witness_audit(rng: np.random.Generator) -> float:
    """The levels at which the lower bound of TV is positive although it is 0."""
    cells = rng.choice(16, size=(200, 1), p=BINS)
    for level in (LEVEL, STRICT_LEVEL):
        if not anytime_tv_lower_bound(cells, [BINS], delta=level):
            return 1.0 if level == LEVEL else LEVEL
    return STRICT_LEVEL


def naive_audit(rng: np.random.Generator) -> float:
    """The smallest p-value of a chi-square test looked at after every 20 of 400 words."""
    counts = rng.multinomial(20, WORDS, size=20).cumsum(axis=0)
    expected = counts.sum(axis=1, keepdims=True) * WORDS
    return float(chdtrc(len(WORDS) - 1, ((counts - expected) ** 2 / expected).sum(axis=1)).min())


METHODS: dict[str, Audit] = {
    "portfolio": portfolio_audit(LAWS, LAWS.p),
    "words": portfolio_audit(ContextTable(p=LAWS.p), LAWS.p, words=[WORDS]),
    "slack": portfolio_audit(LAWS, at_the_edge_of_the_band(LAWS.p, 0.1), slack=0.1),
    "edge": edge_audit(),
    "copies": copies_audit(),
    "pairs": pairs_audit,
    "mean": mean_audit,
    "witness": witness_audit,
    "naive": naive_audit,
}


def main() -> None:
    """Print one line per method."""
    for name in sys.argv[1:] or METHODS:
        start, rng = time.process_time(), np.random.default_rng(sum(map(ord, name)))
        p_values = np.array([METHODS[name](rng) for _ in range(STRICT_AUDITS)])
        alarms = int((p_values[:AUDITS] <= LEVEL).sum()), int((p_values <= STRICT_LEVEL).sum())
        kept = alarms[0] <= MOST and alarms[1] <= STRICT_MOST
        print(
            f"{name}: {alarms[0]} alarms of {AUDITS:,} at {LEVEL} (≤ {MOST}), {alarms[1]} of {STRICT_AUDITS:,} at "
            f"{STRICT_LEVEL} (≤ {STRICT_MOST}): {'keeps' if kept else 'breaks'} the rule; "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
