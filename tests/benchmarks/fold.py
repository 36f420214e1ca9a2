"""One million tokens through the whole portfolio. Run it: python -m tests.benchmarks.fold.

4,096 contexts over 64 tokens with the laws of target, drafter and raw logits known, completions of 20 tokens, one
thread. The baseline in the same run is the process as one would first write it, token by token with numpy over the
components; it folds a thousandth of the tokens, and its time is scaled up. The two agree.
"""

import time
from collections.abc import Callable

import numpy as np

from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.portfolio import Portfolio, ScoredTable
from specaudit.stats.evalues.process import Process

TOKENS, LENGTH, CONTEXTS, SIZE = 1_000_000, 20, 4096, 64
BASELINE_SHARE = 1000
RUNS = 5


def softmax(logits: np.ndarray) -> np.ndarray:
    """Laws from logits `[C, V]`."""
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def completions(laws: np.ndarray, rng: np.random.Generator) -> Completions:
    """Tokens of the law of their contexts, contexts at random."""
    context = rng.integers(0, CONTEXTS, size=TOKENS)
    cdf, coins = laws.cumsum(axis=1)[:, :-1], rng.random(TOKENS)
    parts = np.array_split(np.arange(TOKENS), 100)
    cell = np.concatenate([(cdf[context[part]] < coins[part, None]).sum(axis=1) for part in parts])
    count = TOKENS // LENGTH
    return Completions(
        context=context,
        cell=cell,
        uniform=rng.random(TOKENS),
        lengths=np.full(count, LENGTH),
        lost=np.zeros(count, dtype=int),
        groups=np.ones(count, dtype=int),
    )


def one_by_one(portfolio: Portfolio, scored: ScoredTable, tokens: Completions, count: int) -> float:
    """Log E after `count` completions, by a loop over tokens."""
    wealth = np.zeros(len(portfolio.names))
    counts = portfolio.ranks.no_counts()
    for first in range(0, count * LENGTH, LENGTH):
        seen = counts.copy()
        for t in range(first, first + LENGTH):
            entry = np.array([tokens.context[t] * SIZE + tokens.cell[t]])
            bets = portfolio.dictionary.log_factors(scored.bets, entry, tokens.context[t : t + 1])[0]
            bins = portfolio.ranks.bins(scored.ranks, entry, tokens.uniform[t : t + 1])
            told = portfolio.ranks.log_factors(counts, bins, np.zeros(1, dtype=int), 1)
            wealth += np.concatenate([bets, told.log_factors[0]])
            seen[bins[0], np.arange(bins.shape[1])] += 1
        counts = seen
    return float(np.logaddexp.reduce(wealth + portfolio.log_weights))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall clock and of processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def measure(table: ContextTable, slack: float, rng: np.random.Generator) -> str:
    """Fold the tokens, check a part of them against the loop, and tell how long it took."""
    portfolio, tokens = Portfolio(table, slack=slack), completions(table.p, rng)
    start = time.perf_counter()
    scored = portfolio.score(table)
    scoring = time.perf_counter() - start
    wall, processor = np.median([timed(lambda: Process(portfolio).fold(scored, tokens)) for _ in range(RUNS)], axis=0)
    count = TOKENS // LENGTH // BASELINE_SHARE
    slow = timed(lambda: one_by_one(portfolio, scored, tokens, count))[1] * BASELINE_SHARE
    process = Process(portfolio)
    process.fold(scored, tokens)
    assert np.isclose(process.path[count], one_by_one(portfolio, scored, tokens, count), rtol=1e-9)
    return (
        f"slack {slack:g}: {len(portfolio.names)} components, {TOKENS:,} tokens folded in {wall:.2f} s, processor "
        f"{processor:.2f} s (medians of {RUNS}; ≤ 2), {CONTEXTS:,} contexts scored in {scoring:.2f} s; "
        f"token by token, scaled up, {slow:.0f} s of processor: ratio {slow / processor:.0f}"
    )


def main() -> None:
    """Print the times and their ratio."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(CONTEXTS, SIZE))
    table = ContextTable(
        p=softmax(logits), q=softmax(logits + 0.75 * rng.normal(size=logits.shape)), raw=softmax(0.9 * logits)
    )
    for slack in (0.0, 1e-3):
        print(measure(table, slack, rng))


if __name__ == "__main__":
    main()
