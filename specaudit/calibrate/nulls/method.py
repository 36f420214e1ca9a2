"""What a method is that is calibrated, and what its audits draw from.

At the level .05 there are 2,000 audits and at most 131 may be wrong, at 1e-3 20,000 and 35: more has a probability
below 1e-3. Each audit gives a p-value; where a method gives a bound instead, which misses the truth or not, 0 or 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from specaudit.stats.montecarlo import MonteCarlo

RULES = {0.05: (2000, 131), 1e-3: (20_000, 35)}
"""Audits by level, and how many of them may be wrong."""

EXCEEDANCES = 50
"""Null draws beyond the statistic after which a p-value is clear enough, where it need not be uniform."""

TOLERANCE = 0.05

Array = npt.NDArray[np.float64]
Audit = Callable[[np.random.Generator, float], float]
"""One audit at a level."""

Simulate = Callable[[np.random.Generator, dict[str, Any]], MonteCarlo | None]
"""A test by Monte Carlo, given how many draws it makes."""

Error = Literal["false alarm", "false conforms"]

BINS = np.array([0.3, 0.2, 0.12, 0.1, 0.08, 0.07, 0.05, 0.04, 0.025, 0.015])


@dataclass(frozen=True, kw_only=True)
class NullMethod:
    """A method with audits that it ought to be right about.

    Attributes:
        audit: Gives a p-value, or 0 where a bound misses and 1 where it holds.
        error: What it is to be wrong.
        uniform: Whether p-values at the largest level are uniform, as randomised ones of a fixed size are.
        negative_control: Known to be wrong too often.
    """

    audit: Audit
    error: Error = "false alarm"
    uniform: bool = False
    negative_control: bool = False


def simulated(simulate: Simulate) -> Audit:
    """p-values by Monte Carlo: randomised ones at the largest level, at others those that audits decide by."""

    def audit(rng: np.random.Generator, level: float) -> float:
        fixed = level == max(RULES)
        rule = {"draws": ceil(10 / level) - 1, "stop_after": None if fixed else EXCEEDANCES}
        found = simulate(rng, rule)
        assert found is not None
        return found.randomised_p(rng.random()) if fixed else found.p_value

    return audit


def softmax(logits: Array) -> Array:
    """Return the laws of rows of logits."""
    weights = np.exp(logits)
    laws: Array = weights / weights.sum(axis=-1, keepdims=True)
    return laws


def missed(wrong: bool) -> float:
    """Return the p-value that stands for a bound: 0 where it is wrong."""
    return 0.0 if wrong else 1.0
