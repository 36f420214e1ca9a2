"""Does knowing the drafter help? Tokens to a verdict at α = 1e-3. Run it: python -m tests.benchmarks.drafter_aware.

A vocabulary of 64 tokens, 4,000 random contexts, acceptance about .75; completions of 16 tokens by speculation with
three drafts a step, the first token from prefill, bonus tokens undrafted. Each audit folds completions until it
rejects, judged three ways: the whole portfolio, which knows q; its agnostic components with tokens ordered by p/q
alone; and those with tokens ordered by p, which are blind to the drafter. The baseline is Stein's limit ln(1/α)/KL for
one who does not see which tokens were drafted.
"""

import numpy as np

from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.portfolio import Portfolio, ScoredTable
from specaudit.stats.evalues.process import Process

ALPHA, CONTEXTS, SIZE, DRAFTS, LENGTH = 1e-3, 4000, 64, 3, 16
LOG_ALPHA = np.log(1 / ALPHA)
AUDITS, MOST_TIMES_STEIN = 60, 8
WAYS = {"whole portfolio, q known": "", "agnostic by p/q": "order by p/q,", "agnostic by p": "order by p,"}
LIMITS = {"whole portfolio, q known": 2, "agnostic by p/q": 5}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Laws from logits `[C, V]`."""
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def draw(laws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One token of each law `[B, V]` to `[B]`."""
    return (laws.cumsum(axis=1)[:, :-1] < rng.random(len(laws))[:, None]).sum(axis=1)


def speculate(
    table: ContextTable, faulty: np.ndarray, kept: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Contexts, tokens and whether each was drafted, all `[count, LENGTH]`.

    At a drafted position the token has the law `faulty [C, V]`, of which the part `kept [C, V]` comes from accepted
    drafts; given the token, it was accepted, and the step goes on, with the probability kept/faulty.
    """
    context = rng.integers(0, CONTEXTS, size=(count, LENGTH))
    token, drafted = np.empty_like(context), np.zeros(context.shape, dtype=bool)
    place = np.full(count, DRAFTS)
    for t in range(LENGTH):
        drafted[:, t] = place < DRAFTS
        here = context[:, t]
        token[:, t] = draw(np.where(drafted[:, t, None], faulty[here], table.p[here]), rng)
        at = (here, token[:, t])
        going = drafted[:, t] & (rng.random(count) * faulty[at] < kept[at])
        place = np.where(going, place + 1, 0)
    return context, token, drafted


def fold(
    process: Process, scored: ScoredTable, context: np.ndarray, token: np.ndarray, rng: np.random.Generator
) -> None:
    """Fold whole completions `[R, LENGTH]`."""
    ones = np.ones(len(context), dtype=int)
    process.fold(
        scored,
        Completions(
            context=context.ravel(),
            cell=token.ravel(),
            uniform=rng.random(context.size),
            lengths=LENGTH * ones,
            lost=0 * ones,
            groups=ones,
        ),
    )


def tokens_needed(
    portfolio: Portfolio, scored: ScoredTable, data: tuple[np.ndarray, ...], block: int, rng: np.random.Generator
) -> dict[str, float]:
    """Tokens until each way rejects, infinite if it has not by the end of the data; looked at after every block."""
    process = Process(portfolio)
    needed = dict.fromkeys(WAYS, np.inf)
    for start in range(0, len(data[0]), block):
        fold(process, scored, data[0][start : start + block], data[1][start : start + block], rng)
        wealth = np.array(list(process.log_wealth.values())) + portfolio.log_weights
        for way, prefix in WAYS.items():
            mine = wealth[[name.startswith(prefix) for name in portfolio.names]]
            if needed[way] == np.inf and np.logaddexp.reduce(mine) >= LOG_ALPHA:
                needed[way] = process.tokens
    return needed


def main() -> None:
    """Print one line per fault and way."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(CONTEXTS, SIZE))
    p, q = softmax(logits), softmax(logits + 0.75 * rng.normal(size=logits.shape))
    table = ContextTable(p=p, q=q)
    portfolio = Portfolio(table)
    scored = portfolio.score(table)
    print(f"acceptance {np.minimum(p, q).sum(axis=1).mean():.3f}, {len(portfolio.names)} components")
    faults = {
        "residual drawn from p": (alternatives.residual_from_target(p, q), np.minimum(p, q)),
        "lenience 0.9": (alternatives.lenient(p, q, 0.9), np.minimum(p / 0.9, q)),
    }
    for name, (faulty, kept) in faults.items():
        drafted = speculate(table, faulty, kept, 10_000, rng)[2].mean()
        seen = drafted * faulty + (1 - drafted) * p
        stein = LOG_ALPHA / (seen * np.log(seen / p)).sum(axis=1).mean()
        print(f"{name}: {drafted:.0%} of the tokens drafted, Stein {stein:,.0f} tokens")
        audits = []
        for _ in range(AUDITS):
            data = speculate(table, faulty, kept, int(MOST_TIMES_STEIN * stein / LENGTH), rng)
            audits.append(tokens_needed(portfolio, scored, data, max(1, int(stein / LENGTH / 20)), rng))
        for way in WAYS:
            median = np.median([audit[way] for audit in audits])
            limit = f" (≤ {LIMITS[way]})" if way in LIMITS else ""
            print(f"  {way}: median {median:,.0f} tokens = {median / stein:.2f} × Stein{limit}")


if __name__ == "__main__":
    main()
