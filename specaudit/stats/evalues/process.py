"""Folding tokens into the portfolio: E_t = Σ_j w_j Π_{s≤t} f_j(x_s), which may be watched and stopped at will.

The null: each token has the law p of its context, given everything before it. The subject makes its own contexts; that
does not matter, as the law of a token is only conditional on its context.

E is looked at between groups (requests), never within one. Factors of tokens do not depend on how tokens arrive in
batches, counts are integers, and wealth is added up in order: wherever the evidence is cut between groups, the
results are the same to the last bit. Live and replayed folding agree.

Source: Ramdas, Grünwald, Vovk, Shafer, "Game-theoretic statistics and safe anytime-valid inference", 2023.
"""

import numpy as np

from specaudit.stats.evalues.contexts import Completions, Laws
from specaudit.stats.evalues.groups import group_log_values
from specaudit.stats.evalues.portfolio import Portfolio, ScoredTable
from specaudit.stats.evalues.wealth import Wealth
from specaudit.stats.evalues.words import Words

_SPAN = 1 << 14
"""Tokens looked at together; bounds the memory to some 30 MB."""


class Process(Wealth):
    """The portfolio's wealth while tokens come in.

    Args:
        portfolio: What is bet on.

    Attributes:
        tokens: Tokens folded.
        impossible: Of these, tokens that the target never emits; one is enough to make E infinite.
    """

    def __init__(self, portfolio: Portfolio) -> None:
        super().__init__(portfolio.names, portfolio.log_weights)
        self.tokens = self.impossible = 0
        self._portfolio = portfolio
        self._rank_counts = portfolio.ranks.no_counts()
        self._word_counts = [] if portfolio.words is None else portfolio.words.no_counts()

    def fold(self, table: ScoredTable, completions: Completions, words: Words | None = None) -> None:
        """Take in the next groups, in the order of the plan.

        Args:
            table: Laws of the contexts, from `Portfolio.score`.
            completions: The tokens emitted in them.
            words: The same completions' words, if and only if the portfolio bets on words.

        Raises:
            ValueError: a context or cell is not in the table, or words are missing or unasked for.
        """
        contexts, cells = table.shape
        for name, index, size in (("context", completions.context, contexts), ("cell", completions.cell, cells)):
            if index.size and not 0 <= index.min() <= index.max() < size:
                raise ValueError(f"a {name} is outside 0 … {size - 1}")
        if (words is None) != (self._portfolio.words is None):
            raise ValueError("words must be given if, and only if, the portfolio bets on words")
        done = 0
        for span in completions.spans(_SPAN):
            rows = slice(done, done := done + len(span.lengths))
            part = None if words is None else Words(stratum=words.stratum[rows], cell=words.cell[rows])
            self._multiply(self._log_values(table, span, part))

    def _log_values(self, table: ScoredTable, span: Completions, words: Words | None) -> Laws:
        """Log e-value of every group and component `[G, J]`."""
        portfolio = self._portfolio
        entry = span.context * table.shape[1] + span.cell
        impossible = table.impossible[entry]
        bets = portfolio.dictionary.log_factors(table.bets, entry, span.context)
        bets[table.edge[entry]] = 0
        bins = portfolio.ranks.bins(table.ranks, entry, span.uniform)
        bins[impossible | table.edge[entry]] = -1
        group = np.repeat(np.arange(len(span.groups)), span.groups)
        ranks = portfolio.ranks.log_factors(self._rank_counts, bins, np.repeat(group, span.lengths), len(span.groups))
        self._rank_counts = ranks.counts
        self.tokens += len(entry)
        self.impossible += int(np.count_nonzero(impossible))
        bets[impossible] = ranks.log_factors[impossible] = np.inf
        values = [
            group_log_values(bets, portfolio.dictionary.floor, span),
            group_log_values(ranks.log_factors, ranks.floor, span),
        ]
        if words is not None and portfolio.words is not None:
            told = portfolio.words.log_values(self._word_counts, words, span)
            self._word_counts = told.counts
            values.append(told.log_values)
        return np.concatenate(values, axis=1)
