"""A mixture of nonnegative supermartingales: E_t = Σ_j w_j W_{t,j}, its path, and the test that it makes.

Each component begins at 1 and has factors whose mean is at most 1 under the null, given everything before. So has E,
and by Ville's (1939) inequality P(sup_t E_t ≥ 1/α) ≤ α. Log wealth is added up factor by factor, in order, in double
precision, so that the results do not depend on how the evidence was cut into batches, to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class EValue:
    """What an e-process says after the groups folded so far.

    Attributes:
        log_e: Logarithm of E now; infinite after something that the null excludes.
        log_sup: Logarithm of the largest E so far, at least 0.
        sup_at: Groups folded when that was reached; 0 if E never exceeded 1.
        groups: Groups folded.
        leader: The component that has earned most.
        leader_log_wealth: Logarithm of what its stake of 1 has become.
    """

    log_e: float
    log_sup: float
    sup_at: int
    groups: int
    leader: str
    leader_log_wealth: float

    @property
    def p_value(self) -> float:
        """Anytime p-value min(1, 1 / sup E): valid at every stopping time, super-uniform otherwise."""
        return exp(-self.log_sup)


class Wealth:
    """The wealth of weighted components while evidence comes in.

    Args:
        names: Names of the J components.
        log_weights: Logarithms of their weights `[J]`, which sum to 1.
    """

    def __init__(self, names: Sequence[str], log_weights: _Array) -> None:
        self._names = tuple(names)
        self._log_weights = log_weights
        self._log_wealth = np.zeros(len(self._names))
        self._path = [np.zeros(1)]

    @property
    def path(self) -> _Array:
        """Log E before the first group and after each `[G + 1]`."""
        self._path = [np.concatenate(self._path)]
        return self._path[0]

    @property
    def log_e(self) -> float:
        """Logarithm of E after the last group."""
        return float(self._path[-1][-1])

    @property
    def log_wealth(self) -> dict[str, float]:
        """Logarithm of what each component's stake of 1 has become, by name."""
        return dict(zip(self._names, self._log_wealth.tolist(), strict=True))

    def rejected_at(self, alpha: float) -> int | None:
        """Groups folded when E first reached 1/α; None if it never did.

        Raises:
            ValueError: α is not inside (0, 1).
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be inside (0, 1), got {alpha}")
        reached = np.flatnonzero(self.path >= -np.log(alpha))
        return int(reached[0]) if reached.size else None

    def value(self) -> EValue:
        """Sum up."""
        path, best = self.path, int(self._log_wealth.argmax())
        return EValue(
            log_e=self.log_e,
            log_sup=float(path.max()),
            sup_at=int(path.argmax()),
            groups=len(path) - 1,
            leader=self._names[best],
            leader_log_wealth=float(self._log_wealth[best]),
        )

    def _multiply(self, log_factors: _Array) -> None:
        """Take in the log e-values of the next groups `[G, J]`; infinite ones stay, whatever follows."""
        wealth = np.add.accumulate(np.concatenate([self._log_wealth[None], log_factors]), axis=0)
        self._log_wealth = wealth[-1]
        weighted = wealth[1:] + self._log_weights
        top = weighted.max(axis=1)
        # Where the top is infinite so is E; anything finite serves to shift by.
        shift = np.where(np.isinf(top), 0, top)
        with np.errstate(over="ignore"):
            self._path.append(shift + np.log(np.exp(weighted - shift[:, None]).sum(axis=1)))
