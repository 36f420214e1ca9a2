"""Dirichlet-mixture betting on the joint cells of words, for faults that live in no single token's law.

In a stratum (a prompt and a depth) with the law p over C cells the bet on a word is (n_c + κ p_c) / ((n + κ) p_c), with
n_c the earlier words in cell c: the predictive law of a Dirichlet mixture centred at p. Words of one completion depend
on each other, hence their values are averaged; so are those of the completions in one group. Counts are taken in
between groups.
"""

from dataclasses import dataclass

import numpy as np

from specaudit.stats.evalues.contexts import Completions, Indices, Laws
from specaudit.stats.evalues.groups import mean_of_groups
from specaudit.stats.evalues.slack import largest_mean
from specaudit.stats.strata import Counts, Law, Strata, check_counts, check_laws

STRENGTHS = (1.0, 16.0)
"""Concentrations κ, per cell."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Words:
    """Words of the completions that are folded together, D of each.

    Attributes:
        stratum: Which law each word ought to have `[R, D]`.
        cell: Its cell in that law `[R, D]`; -1 if it was lost.
    """

    stratum: Indices
    cell: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class WordValues:
    """Bets on a batch of words, and what was learnt from it.

    Attributes:
        log_values: Log e-value of each group `[G, J]`.
        counts: What was seen of every cell, this batch included, S arrays `[C_s]`.
    """

    log_values: Laws
    counts: list[Counts]


class WordCells:
    """The bets on the cells of words.

    Args:
        laws: The law of words in each of S strata, `[S, C]` or arrays `[C_s]`.
        slack: Half-width of the band of the log-probability of a word: L times that of a token.

    Raises:
        ValueError: a law is none.
    """

    def __init__(self, laws: Strata, slack: float) -> None:
        self._laws = check_laws(laws, check_counts([np.zeros(np.shape(law)) for law in laws]))
        self._slack = slack
        self.names = tuple(f"word cells ×{strength:g}" for strength in STRENGTHS)

    def no_counts(self) -> list[Counts]:
        """Counts of every cell before the first word, S arrays `[C_s]`."""
        return [np.zeros(len(law), dtype=np.int64) for law in self._laws]

    def log_values(self, counts: list[Counts], words: Words, completions: Completions) -> "WordValues":
        """Bet on the words of the next groups, then learn from them.

        Args:
            counts: What was seen in earlier groups, S arrays `[C_s]`.
            words: The words.
            completions: Which completions are in one group.

        Raises:
            ValueError: words do not match the completions, or a stratum or cell does not exist.
        """
        self._check(words, completions)
        group = np.repeat(np.arange(len(completions.groups)), completions.groups)
        of_word = np.broadcast_to(group[:, None], words.cell.shape)
        values, after = np.empty((*words.cell.shape, len(STRENGTHS))), list(counts)
        for s in np.unique(words.stratum):
            mine = words.stratum == s
            cell = words.cell[mine]
            seen = (cell[:, None] == np.arange(len(counts[s]))).cumsum(axis=0)
            totals = np.concatenate([counts[s][None], counts[s] + seen])
            earlier = totals[np.searchsorted(of_word[mine], of_word[mine])]
            values[mine] = self._bets(self._laws[s], cell, earlier)
            after[s] = totals[-1]
        means = np.logaddexp.reduce(values, axis=1) - np.log(words.cell.shape[1])
        return WordValues(log_values=mean_of_groups(means, completions.groups), counts=after)

    def _bets(self, law: Law, cell: Indices, earlier: Counts) -> Laws:
        """Log value of words `[n, J]` in cells `[n]` of a law `[C]`, given what was seen before each `[n, C]`."""
        lost = cell < 0
        total = earlier.sum(axis=1)
        values = np.empty((len(cell), len(STRENGTHS)))
        for j, strength in enumerate(STRENGTHS):
            kappa = strength * len(law)
            odds = np.divide(earlier, law, out=np.full(earlier.shape, np.inf), where=law > 0) + kappa
            # A lost word may have been one of a cell not seen before.
            values[:, j] = np.log(np.where(lost, kappa, odds[np.arange(len(cell)), cell]) / (total + kappa))
            if self._slack:
                odds[:, law == 0] = 0
                values[:, j] -= np.log(largest_mean(odds / (total[:, None] + kappa), law, self._slack))
        return values

    def _check(self, words: Words, completions: Completions) -> None:
        shape = words.cell.shape
        if words.stratum.shape != shape or len(shape) != 2 or shape[0] != len(completions.lengths) or not shape[1]:
            raise ValueError(
                f"words of {len(completions.lengths)} completions must be [R, D], got "
                f"{list(words.stratum.shape)} and {list(shape)}"
            )
        if words.stratum.min() < 0 or words.stratum.max() >= len(self._laws):
            raise ValueError(f"a word is of none of the {len(self._laws)} strata")
        if (words.cell < -1).any() or (words.cell >= np.array([len(law) for law in self._laws])[words.stratum]).any():
            raise ValueError("a word is in no cell of its law")
