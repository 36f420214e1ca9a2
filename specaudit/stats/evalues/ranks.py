"""The part of the portfolio that does not know what it looks for: where tokens fall in an order chosen in advance.

In each context tokens are put in order, and a token x becomes the point U = F(x-) + u p(x) for F the cumulative law in
that order and u a recorded uniform: the randomised probability-integral transform. Under p, U is uniform whatever the
context, so that all contexts can be pooled; U is put in 16 bins. What a fault moves shows in the order that
the fault moves along. Orders by p/q are for faults of speculation, which move mass along sign(q - p) and leave an
order by p almost untouched (loss of information 300 × against 1.2 ×); by p_raw/p, in bins that halve towards the
tokens that raw processing favours most, for faults of the parameters.

The bet on the next bin is a mixture over laws of the bins: their Pólya tree (Mauldin, Sudderth, Williams 1992). The
mass of a node is split in two by a Beta law centred at the null, with concentration κ_d at depth d. The Dirichlet
mixture with concentration κ is the case κ_d = κ 2^-d. Concentrations that grow with depth expect neighbouring bins to
deviate alike: such a mixture pays for few parameters, not for 15, and on faults of speculation needs half of the
Dirichlet mixture's tokens or less. Counts are taken in between groups, never within one, so a group's bets do
not depend on the group.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specaudit.stats.evalues.contexts import ContextTable, Indices, Laws
from specaudit.stats.evalues.dictionary import given
from specaudit.stats.evalues.slack import largest_mean

BINS, _DEPTH = 16, 4

TREES: dict[str, tuple[float, ...]] = {
    "smooth": tuple(16.0 * 4**d for d in range(_DEPTH)),
    "smooth, slight": tuple(256.0 * 4**d for d in range(_DEPTH)),
    "Dirichlet": tuple(32.0 / 2**d for d in range(_DEPTH)),
}
"""Concentrations κ_0 … κ_3 of each mixture, by name."""

_EVEN = np.full(BINS, 1 / BINS)
_HALVING = np.concatenate([[2.0 ** (1 - BINS)], 2.0 ** np.arange(1 - BINS, 0)])

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredRanks:
    """Where each cell lies in each order, for one table of contexts.

    Attributes:
        low: F(x-) `[C * V, O]`.
        width: P(x), given that x is no edge cell `[C * V, O]`.
    """

    low: Laws
    width: Laws


@dataclass(frozen=True, kw_only=True, eq=False)
class RankFactors:
    """Bets on a batch of tokens, and what was learnt from it.

    Attributes:
        log_factors: Log f - log M of every bet at every token `[N, J]`, 0 where none was counted.
        floor: The smallest that each bet's could have been in each group `[G, J]`.
        counts: What was seen of every bin, this batch included `[16, O]`.
    """

    log_factors: Laws
    floor: Laws
    counts: Counts


class Ranks:
    """The bets on the bins of every order and tree.

    Args:
        table: Tells which orders its laws allow.
        slack: Half-width η of the band of log p; it bounds the density of U just as it bounds the law.
    """

    def __init__(self, table: ContextTable, slack: float) -> None:
        self._orders = ["p"] + ["p/q"] * (table.q is not None) + ["raw/p"] * (table.raw is not None)
        self._slack = slack if table.edge is None else 2 * slack
        self._masses = np.stack([_HALVING if order == "raw/p" else _EVEN for order in self._orders], axis=1)
        self._edges = np.cumsum(self._masses, axis=0)[:-1]
        self.names = tuple(f"order by {order}, {tree}" for order in self._orders for tree in TREES)

    def no_counts(self) -> Counts:
        """Counts of every bin before the first token `[16, O]`."""
        return np.zeros((BINS, len(self._orders)), dtype=np.int64)

    def score(self, table: ContextTable) -> ScoredRanks:
        """Put the cells of every context in order."""
        law = table.p if table.edge is None else given(table.p, ~table.edge, table.p)
        keys = {"p": -law}
        if table.q is not None:
            keys["p/q"] = np.divide(table.p, table.q, out=np.full_like(law, np.inf), where=table.q > 0)
        if table.raw is not None:
            keys["raw/p"] = -np.divide(table.raw, table.p, out=np.zeros_like(law), where=table.p > 0)
        low = np.stack([_mass_before(law, keys[order]) for order in self._orders], axis=-1)
        return ScoredRanks(low=low.reshape(-1, len(self._orders)), width=law.reshape(-1, 1))

    def bins(self, scored: ScoredRanks, entry: Indices, uniform: npt.NDArray[np.float64]) -> Indices:
        """Bin of every token in every order `[N, O]`; `entry [N]` is context · V + cell."""
        points = np.take(scored.low, entry, axis=0) + np.take(scored.width, entry, axis=0) * uniform[:, None]
        found = [np.searchsorted(edges, points[:, o], side="right") for o, edges in enumerate(self._edges.T)]
        return np.stack(found, axis=1)

    def log_factors(self, counts: Counts, bins: Indices, group: Indices, groups: int) -> "RankFactors":
        """Bet on the tokens of the next groups, then learn from them.

        Args:
            counts: What was seen of every bin in earlier groups `[16, O]`.
            bins: Bin of every token in every order `[N, O]`, -1 where none is to be counted.
            group: Group of every token `[N]`, 0 … G-1.
            groups: G.
        """
        orders = len(self._orders)
        known = bins >= 0
        address = (bins * orders + np.arange(orders)) * groups + group[:, None]
        seen = np.bincount(address[known], minlength=BINS * orders * groups).reshape(BINS, orders, groups)
        totals = np.cumsum(np.concatenate([counts[..., None], seen], axis=2), axis=2)
        logs = [self._log_odds(totals[..., :-1], tree) for tree in TREES.values()]
        # The address of bin -1 is that of another token's, from the end.
        factors = np.stack([np.where(known, tree.ravel()[address], 0) for tree in logs], axis=2)
        floors = np.stack([tree.min(axis=0).T for tree in logs], axis=2)
        return RankFactors(
            log_factors=factors.reshape(len(bins), -1), floor=floors.reshape(groups, -1), counts=totals[..., -1]
        )

    def _log_odds(self, counts: Counts, concentrations: tuple[float, ...]) -> Laws:
        """Log of predicted mass over mass under the null, minus log M, of every bin `[16, O, G]`."""
        orders, groups = counts.shape[1:]
        odds = np.ones((1, orders, groups))
        for depth, concentration in enumerate(concentrations):
            share = self._masses.reshape(2**depth, 2, -1, orders).sum(axis=2)[..., None]
            share /= share.sum(axis=1, keepdims=True)
            children = counts.reshape(2**depth, 2, -1, orders, groups).sum(axis=2)
            predicted = (children / share + concentration) / (children.sum(axis=1, keepdims=True) + concentration)
            odds = (odds[:, None] * predicted).reshape(-1, orders, groups)
        logs = np.log(odds)
        if self._slack:
            logs -= np.log(largest_mean(odds.T, self._masses.T, self._slack)).T
        return logs


def _mass_before(law: Laws, key: Laws) -> Laws:
    """Mass of the cells that come before each, in ascending order of the key `[C, V]`."""
    order = np.argsort(key, axis=1, kind="stable")
    ranked = np.take_along_axis(law, order, axis=1)
    before = np.empty_like(law)
    np.put_along_axis(before, order, np.cumsum(ranked, axis=1) - ranked, axis=1)
    return before
