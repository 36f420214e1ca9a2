"""Two samples: do subject and reference draw from one law, whichever it is?

A pair holds one draw x of the subject and one draw y of the reference for the same prompt and position, independent of
each other given everything before. With â and b̂ laws estimated on earlier pairs and m̂ = (â + b̂)/2,

    E_pair = â(x) b̂(y) / (m̂(x) m̂(y))

has mean A B ≤ 1 under every common law r: A = Σ r â/m̂ and B = Σ r b̂/m̂ sum to 2 (Turner, Ly, Grünwald, "Generic
E-variables for exact sequential k-sample tests", 2024). One position or one word per pair: later positions of two
free-running sequences have different contexts, and multiplying them would reject equals.

Draws enter as cells of partitions with at most 16 cells each (rank bins under the reference, the first token of the
draft or not). The estimates are shrunk towards the pooled law by κ draws; the process is averaged over partitions and
over several κ, and over bets that look at the same pairs in another way (`sequences`), which share half of the weight.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specaudit.stats.evalues.contexts import Indices
from specaudit.stats.evalues.wealth import Wealth

MAX_CELLS = 16
SHRINKAGE = (16.0, 256.0)
"""Draws κ that the pooled law counts for."""

_Array = npt.NDArray[np.float64]
_Counts = npt.NDArray[np.int64]


class PairProcess(Wealth):
    """Evidence against equality of two arms, pair by pair.

    Args:
        cells: Number of cells of each of P partitions, 2 to 16, by the name of the partition.
        others: Names of M bets on the same pairs that are made elsewhere.

    Raises:
        ValueError: there is no partition, or one has fewer than 2 or more than 16 cells.
    """

    def __init__(self, cells: dict[str, int], *, others: Sequence[str] = ()) -> None:
        if not cells:
            raise ValueError("pairs need at least one partition into cells")
        for name, size in cells.items():
            if not 2 <= size <= MAX_CELLS:
                raise ValueError(f"partition {name!r} has {size} cells, must be 2 to {MAX_CELLS}")
        names = [f"{name} ×{kappa:g}" for name in cells for kappa in SHRINKAGE]
        weights = [np.full(len(group), 1 / len(group)) for group in (names, others) if group]
        super().__init__((*names, *others), np.log(np.concatenate(weights) / len(weights)))
        self._others = len(others)
        self._cells = tuple(cells.values())
        self._counts = [np.zeros((2, size), dtype=np.int64) for size in self._cells]

    def fold(self, subject: Indices, reference: Indices, others: _Array | None = None) -> None:
        """Take in the next pairs, in the order of the plan.

        Args:
            subject: Cell of the subject's draw in each partition `[N, P]`.
            reference: Cell of the reference's draw for the same prompt and position `[N, P]`.
            others: Log e-values of the bets that are made elsewhere `[N, M]`; None for none.

        Raises:
            ValueError: there is no pair, shapes disagree, or a cell is not one of its partition.
        """
        self._check(subject, reference)
        told = np.empty((len(subject), 0)) if others is None else others
        if told.shape != (len(subject), self._others):
            raise ValueError(f"{len(subject)} pairs and {self._others} other bets, got values of {list(told.shape)}")
        factors = [self._log_factors(k, np.stack([subject[:, k], reference[:, k]])) for k in range(len(self._cells))]
        self._multiply(np.concatenate([*factors, told], axis=1))

    def _log_factors(self, k: int, cells: Indices) -> _Array:
        """Log E of every pair `[N, κ]` from its cells `[2, N]` in partition k, then learn from them."""
        seen = (cells[..., None] == np.arange(self._cells[k])).cumsum(axis=1)
        totals = np.concatenate([self._counts[k][:, None], self._counts[k][:, None] + seen], axis=1)
        self._counts[k] = totals[:, -1]
        return np.stack([_log_ratio(totals[:, :-1], cells, kappa) for kappa in SHRINKAGE], axis=1)

    def _check(self, subject: Indices, reference: Indices) -> None:
        if subject.shape != reference.shape or subject.ndim != 2 or subject.shape[1] != len(self._cells):
            raise ValueError(
                f"both arms must be [N, {len(self._cells)}], got {list(subject.shape)} and {list(reference.shape)}"
            )
        if not len(subject):
            raise ValueError("there is no pair to fold")
        for name, arm in (("subject", subject), ("reference", reference)):
            if ((arm < 0) | (arm >= np.array(self._cells))).any():
                raise ValueError(f"a draw of the {name} is in no cell of its partition")


def _log_ratio(earlier: _Counts, cells: Indices, kappa: float) -> _Array:
    """Log of â(x) b̂(y) / (m̂(x) m̂(y)) `[N]`, from what both arms had drawn before `[2, N, C]`."""
    pairs, size = earlier.shape[1:]
    drawn = np.arange(pairs)
    pooled = (earlier.sum(axis=0) + 0.5) / (2 * earlier[:1].sum(axis=2).T + 0.5 * size)
    estimate = (earlier + kappa * pooled) / (earlier.sum(axis=2, keepdims=True) + kappa)
    middle = estimate.mean(axis=0)
    logs: _Array = sum(np.log(estimate[arm, drawn, cells[arm]] / middle[drawn, cells[arm]]) for arm in (0, 1))
    return logs
