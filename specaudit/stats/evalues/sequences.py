"""Two samples of sequences: do subject and reference draw them from one law, whichever it is?

As in `pairs`, with a whole sequence for a draw: â and b̂ are chains of first order whose transitions were counted in
earlier pairs, and for sequences x of the subject and y of the reference, with m̂ = (â + b̂)/2,

    E_pair = â(x) b̂(y) / (m̂(x) m̂(y))

has mean at most 1 under every common law, be it a chain or not (Turner, Ly, Grünwald 2024). All tokens of a sequence
speak together, while the places of a free-running sequence must not be multiplied as if they were draws of their own.

Transitions are shrunk towards those of both arms together by κ transitions; there is a bet for each of several κ.
"""

import numpy as np
import numpy.typing as npt

from specaudit.stats.evalues.contexts import Indices

SHRINKAGE = (4.0, 16.0, 64.0, 256.0)
"""Transitions κ from each state that the pooled chain counts for."""

_FIRST = 8
_SHARE = 8
"""Transitions are learnt from pairs 8 at a time, and an eighth of all pairs at a time once there are more than 64."""

_Array = npt.NDArray[np.float64]


class SequencePairs:
    """E-values of pairs of sequences, which learn as pairs come in.

    Args:
        states: Number of states C, at least 2.

    Attributes:
        names: Of the bets.

    Raises:
        ValueError: there are fewer than two states.
    """

    def __init__(self, states: int) -> None:
        if states < 2:
            raise ValueError(f"sequences of {states} states cannot differ")
        self.names = tuple(f"all tokens ×{kappa:g}" for kappa in SHRINKAGE)
        self._states = states
        # By arm, the state before (the last row: none) and the state.
        self._counts = np.zeros((2, states + 1, states))
        self._coming = np.zeros_like(self._counts)
        self._pairs = 0
        self._until = _FIRST

    def fold(self, subject: Indices, reference: Indices) -> _Array:
        """Return the log e-values of the next pairs `[N, κ]`, in the order of the plan, and learn from them.

        How pairs are cut into calls makes no difference.

        Args:
            subject: States of the subject's sequences `[N, T]`.
            reference: The same of the reference, to the same prompts.

        Raises:
            ValueError: shapes disagree, or a state is none.
        """
        if subject.shape != reference.shape or subject.ndim != 2:
            raise ValueError(f"both arms must be [N, T], got {list(subject.shape)} and {list(reference.shape)}")
        if subject.size and not 0 <= min(subject.min(), reference.min()) <= max(subject.max(), reference.max()) < (
            self._states
        ):
            raise ValueError(f"a state is outside 0 … {self._states - 1}")
        found = [np.empty((0, len(SHRINKAGE)))]
        first = 0
        while first < len(subject):
            last = min(len(subject), first + self._until - self._pairs)
            ours, theirs = subject[first:last], reference[first:last]
            found.append(self._log_values(ours, theirs))
            for counts, rows in zip(self._coming, (ours, theirs), strict=True):
                np.add.at(counts, (_before(rows, self._states), rows), 1)
            self._pairs += last - first
            first = last
            if self._pairs == self._until:
                self._counts += self._coming
                self._coming[:] = 0
                self._until += max(_FIRST, self._pairs // _SHARE)
        return np.concatenate(found)

    def _log_values(self, ours: Indices, theirs: Indices) -> _Array:
        pooled = self._counts.sum(axis=0) + 0.5
        pooled /= pooled.sum(axis=1, keepdims=True)
        totals = self._counts.sum(axis=2, keepdims=True)
        values = np.empty((len(ours), len(SHRINKAGE)))
        for bet, kappa in enumerate(SHRINKAGE):
            chains = np.log((self._counts + kappa * pooled) / (totals + kappa))
            ratio = chains[0] - chains[1]
            x, y = (ratio[_before(rows, self._states), rows].sum(axis=1) for rows in (ours, theirs))
            # With x = log â/b̂ the odds â/m̂ are 2 e^x / (1 + e^x), and b̂/m̂ are 2 / (1 + e^y).
            values[:, bet] = 2 * np.log(2) - np.logaddexp(0, -x) - np.logaddexp(0, y)
        return values


def _before(rows: Indices, states: int) -> Indices:
    """The state before each, one of its own for the first `[N, T]`."""
    return np.column_stack([np.full(len(rows), states), rows[:, :-1]])
