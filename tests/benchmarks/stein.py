"""Words to a verdict on three faults in the world markov4. Run it: python -m tests.benchmarks.stein [SHARE].

Three drafts a step, all positions drafted, words of three tokens from an empty prompt, α = 1e-3; the laws of words are
known by enumeration. Each audit folds words into the whole portfolio, dictionary and agnostic half, until it rejects.
Baselines in the same run: Stein's limit ln(1/α)/KL, and the words that a chi-square test of the 64 cells needs for a
power of 99 %. SHARE scales the number of audits, 1 by default.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from specaudit.decoding.worlds import MARKOV4
from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.portfolio import Portfolio, ScoredTable
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.words import Words
from specaudit.stats.noncentral import noncentrality_at

ALPHA, SIZE, LENGTH = 1e-3, 4, 3
LOG_ALPHA = np.log(1 / ALPHA)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Laws from logits `[..., V]`."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


# Row 0 is the empty prompt, row 1 + x the context that ends in token x.
P, Q = (softmax(model.logits(np.arange(-1, SIZE))) for model in (MARKOV4.target, MARKOV4.drafter.model))
FAULTS = {
    "residual drawn from p": (alternatives.residual_from_target(P, Q), "resid-from-target ×0.9", 1000),
    "lenience 0.95": (alternatives.lenient(P, Q, 0.95), "lenience 0.95 ×0.9", 300),
    "temperature 0.97": (alternatives.tempered(P, 1 / 0.97), "p^1.03 ×0.97", 300),
}


def word_law(laws: np.ndarray) -> np.ndarray:
    """Law of the 64 words `[V**3]` of a chain."""
    return np.einsum("a,ab,bc->abc", laws[0], laws[1:], laws[1:]).ravel()


@dataclass(frozen=True, kw_only=True)
class Folding:
    """The portfolio and what it is told of the world."""

    portfolio: Portfolio
    table: ScoredTable

    def words_needed(self, law: np.ndarray, rng: np.random.Generator, block: int) -> int:
        """Words of one audit until it rejects."""
        process = Process(self.portfolio)
        while process.log_e < LOG_ALPHA:
            codes = rng.choice(len(law), size=block, p=law)
            tokens = np.stack(np.unravel_index(codes, (SIZE,) * LENGTH), axis=1)
            contexts = np.concatenate([np.zeros((block, 1), dtype=int), tokens[:, :-1] + 1], axis=1)
            ones = np.ones(block, dtype=int)
            process.fold(
                self.table,
                Completions(
                    context=contexts.ravel(),
                    cell=tokens.ravel(),
                    uniform=rng.random(tokens.size),
                    lengths=LENGTH * ones,
                    lost=0 * ones,
                    groups=ones,
                ),
                Words(stratum=np.zeros((block, 1), dtype=int), cell=codes[:, None]),
            )
        return process.rejected_at(ALPHA)


def chi_square_words(law: np.ndarray, target: np.ndarray) -> float:
    """Words at which the 64-cell test at level α has a power of 99 %."""
    dof = len(law) - 1
    return noncentrality_at(chdtri(dof, ALPHA), dof, 0.01) / ((law - target) ** 2 / target).sum()


def main() -> None:
    """Print one line per fault, with the limits to keep."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    table, target = ContextTable(p=P, q=Q), word_law(P)
    portfolio = Portfolio(table, words=[target], word_length=LENGTH)
    folding = Folding(portfolio=portfolio, table=portfolio.score(table))
    rng = np.random.default_rng(0)
    print(f"{len(portfolio.dictionary.names)} bets on known laws, {len(portfolio.names)} components in all")
    for name, (laws, component, audits) in FAULTS.items():
        law = word_law(laws)
        divergence = (law * np.log(law / target)).sum()
        stein = LOG_ALPHA / divergence
        weight = np.exp(portfolio.log_weights[portfolio.names.index(component)])
        expected = (LOG_ALPHA - np.log(weight)) / divergence
        count = max(20, round(share * audits))
        needed = [folding.words_needed(law, rng, max(20, int(stein / 5))) for _ in range(count)]
        median, spread = np.median(needed), 1.25 * np.std(needed) / np.sqrt(count)
        fixed = chi_square_words(law, target)
        print(
            f"{name}: TV {abs(law - target).sum() / 2:.3f}, Stein {stein:,.0f}, median {median:,.0f} ± {spread:,.0f} "
            f"words of {count} audits = {median / stein:.2f} × Stein (≤ 1.6), {median / expected:.2f} × "
            f"(ln 1/α + ln 1/w)/KL (≤ 1.1), chi-square {fixed:,.0f} = {fixed / median:.1f} × (≥ 3.5)"
        )


if __name__ == "__main__":
    main()
