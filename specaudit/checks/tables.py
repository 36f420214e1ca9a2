"""Laws of contexts as a table for the statistics: tokens in the order of their probability, and where each stands."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specaudit.laws.contexts import NextLaw
from specaudit.laws.edge import Edge
from specaudit.model.request import Token
from specaudit.stats.evalues.contexts import ContextTable


class LawTable:
    """The laws of some contexts, most likely tokens first, and one last column for tokens that a law does not list.

    Such a token is impossible, unless rounding may have put it on the wrong side of the filters: then it shares a cell
    with the tokens that were kept although they may not have been, and on their cells nothing is bet.

    Args:
        laws: One per context.
        edges: What is in doubt about the support of each; None for exact laws.
        drafts: The drafter's laws in the same contexts, where it revealed them.
        raw: The target's laws without any filter, where these are known and filters are asked for.
    """

    def __init__(
        self,
        laws: Sequence[NextLaw],
        *,
        edges: Sequence[Edge] | None = None,
        drafts: Sequence[NextLaw] | None = None,
        raw: Sequence[NextLaw] | None = None,
    ) -> None:
        ranked = [sorted(law, key=lambda token: (-law[token], str(token))) for law in laws]
        self._cells = [{token: cell for cell, token in enumerate(tokens)} for tokens in ranked]
        self._edges = edges
        self._width = max(map(len, ranked)) + 1
        p = np.zeros((len(laws), self._width))
        for row, tokens in enumerate(ranked):
            p[row, : len(tokens)] = [laws[row][token] for token in tokens]
        p /= p.sum(axis=1, keepdims=True)
        edge = None
        if edges is not None:
            edge = np.zeros(p.shape, dtype=np.bool_)
            for row, (cells, doubt) in enumerate(zip(self._cells, edges, strict=True)):
                # A law with one token only has no other to tell it from: nothing can be bet on it at all.
                if len(cells) > 1:
                    edge[row, [cells[token] for token in doubt.tokens if token in cells]] = True
        q, unfiltered = (None if laws is None else self._aligned(laws) for laws in (drafts, raw))
        self.table = ContextTable(p=p, q=q, raw=unfiltered, edge=edge)

    def cell(self, context: int, token: Token) -> int:
        """Return the cell of a token in a context."""
        cells = self._cells[context]
        if (cell := cells.get(token)) is not None:
            return cell
        doubt = None if self._edges is None else self._edges[context]
        in_doubt = doubt is not None and (doubt.beyond or token in doubt.tokens)
        # Kept tokens in doubt are the least likely ones: the last of them stands for all.
        return len(cells) - 1 if in_doubt else self._width - 1

    def cells(self, contexts: Sequence[int], tokens: Sequence[Token]) -> NDArray[np.int64]:
        """Return the cell of each token in its context `[N]`."""
        listed = self._cells
        found = np.array(
            [listed[at].get(token, -1) for at, token in zip(contexts, tokens, strict=True)], dtype=np.int64
        )
        for place in np.flatnonzero(found < 0).tolist():
            found[place] = self.cell(contexts[place], tokens[place])
        return found

    def hidden(self) -> NDArray[np.float64]:
        """Return what sharing a cell can hide of each context's total variation `[C]`."""
        edge = False if self.table.edge is None else self.table.edge
        hidden: NDArray[np.float64] = np.where(edge, self.table.p, 0.0).sum(axis=1)
        return hidden

    def _aligned(self, laws: Sequence[NextLaw]) -> NDArray[np.float64]:
        """Other laws in the cells of these `[C, V]`."""
        table = np.zeros((len(laws), self._width))
        for row, law in enumerate(laws):
            for token, probability in law.items():
                table[row, self.cell(row, token)] += probability
        table /= table.sum(axis=1, keepdims=True)
        return table
