"""The test of a whole sample, beside the bets that may have ended it."""

from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np

from specaudit.checks.interface import POWER, Budget
from specaudit.model.finding import Betting
from specaudit.model.suite import SequentialSettings
from specaudit.stats.budget import combined_p
from specaudit.stats.chisquare import ChiSquareTest
from specaudit.stats.power import detectable_tv

DESCRIPTIVE_DRAWS = 2000
"""Null draws behind p-values that decide nothing."""

EXCEEDANCES = 50
"""Null draws beyond the statistic after which a p-value is clear enough (Besag and Clifford 1991)."""


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Error levels of one view of a sample."""

    alpha: float
    """Of the test, and of the lower bound."""
    delta: float
    """Of each upper bound."""
    draws: int
    """Null draws behind the p-value at most; it needs 10/alpha to reach alpha with some to spare."""
    rng: np.random.Generator
    early: bool = False
    """The sample was ended because of what it showed: bounds at a planned size do not hold."""
    numeric: float = 0.0
    """Total variation that the reference's numerics can hide: its law is known no better."""

    @classmethod
    def of_view(cls, alpha: float, budget: Budget, *, decisive: bool, numeric: float = 0.0) -> Self:
        """Return the levels of a view that may accuse at `alpha`, unless the sample was ended by what it showed."""
        return cls(
            alpha=alpha,
            delta=budget.delta,
            draws=ceil(10 / alpha) if decisive else DESCRIPTIVE_DRAWS,
            rng=np.random.default_rng(budget.seed),
            early=not decisive,
            numeric=numeric,
        )


def round_ends(count: int, blocks: int, turn: int = 1) -> list[int]:
    """Return where rounds of a sample end, from 0 on, each as large as all before it.

    Args:
        count: Requests of the whole sample.
        blocks: Rounds at most.
        turn: Requests that belong together, and to one round.
    """
    return sorted({0, *(min(count, turn * ceil(count / 2**i / turn)) for i in range(blocks))})


def sample_alpha(settings: SequentialSettings, budget: Budget) -> float:
    """Return the share of a check's budget that the test of the whole sample has; the rest is for betting."""
    return budget.alpha if settings.fixed_n else budget.alpha / 2


def both_p(settings: SequentialSettings, betting: Betting | None, sample_p: float) -> float:
    """Return one p-value of two tests of one null, which share the budget: what was bet, and the whole sample's.

    Args:
        settings: They say whether there are bets at all.
        betting: The bets; None where nothing could be bet on.
        sample_p: p-value of the sample at its planned size; 1 where it is not complete.
    """
    if settings.fixed_n:
        return sample_p
    return combined_p({"bets": 1.0 if betting is None else betting.p_value, "sample": sample_p})


def detectable(test: ChiSquareTest, alpha: float) -> float:
    """Return the total variation that a test of this size shows with 90 % probability; 1 where it shows none."""
    return detectable_tv(max(1, int(test.effective_size)), test.dof, alpha=alpha, power=POWER) if test.dof else 1.0
