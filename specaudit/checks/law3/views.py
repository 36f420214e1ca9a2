"""One view of LAW3: the tokens of one range of depths, tested and bounded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law3.depths import BINS, Range
from specaudit.checks.tokens import ScoredTokens
from specaudit.model.finding import Effect, Statistic, View, Witness
from specaudit.stats.chisquare import ChiSquareTest
from specaudit.stats.distance import TotalVariation, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit

_EXCEEDANCES = 50
"""Null draws beyond the statistic after which a p-value is clear enough (Besag and Clifford 1991)."""

_UNIFORM = np.full(BINS, 1 / BINS)


@dataclass(frozen=True, kw_only=True)
class RangeView:
    """The tokens of a range, by their rank in the target's law."""

    depths: Range
    law: str
    test: ChiSquareTest
    distance: TotalVariation
    p_value: float
    missing: float
    """Share of the tokens that were to be scored and are not: what was lost may have been chosen."""
    low: float
    high: float
    witness: Witness

    def record(self, tolerance: float, confidence: float) -> View:
        """Return the view as it stands in the finding."""
        return View(
            name=self.depths.name,
            samples=int(self.test.effective_size),
            law=self.law,
            effect=Effect(
                name="total variation in 16 bins of rank",
                value=self.distance.estimate,
                under_equality=self.distance.expected_under_equality,
                low=self.low,
                high=self.high,
                confidence=confidence,
                tolerance=tolerance,
            ),
            statistic=Statistic(
                name="chi-square",
                value=self.test.statistic,
                degrees_of_freedom=self.test.dof,
                p_value=self.p_value,
                method="Monte Carlo",
            ),
        )


def judge_range(
    depths: Range,
    rounds: Sequence[ScoredTokens],
    law: str,
    *,
    alpha: float,
    delta: float,
    draws: int,
    rng: np.random.Generator,
    early: bool,
) -> RangeView | None:
    """Test and bound the tokens of one range; None where none was scored.

    A sample that was ended by what it showed has no lower bound: that of a planned size does not hold.

    A token becomes the point F(x-) + u p(x) of the target's cumulative law, most likely tokens first, with u uniform:
    under the target's law the points are uniform and independent, whatever the contexts, so that all can be pooled.
    """
    found = [_in_range(depths, one) for one in rounds]
    points = np.concatenate([part.points for part in found]) if found else np.empty(0)
    if not points.size:
        return None
    counts = np.bincount((points * BINS).astype(np.int64), minlength=BINS)[:BINS]
    test = goodness_of_fit([counts], [_UNIFORM], draws=draws, stop_after=_EXCEEDANCES, rng=rng)
    assert test.monte_carlo is not None
    distance = tv_from_law([counts], [_UNIFORM])
    hidden = float(np.concatenate([part.hidden for part in found]).mean())
    missing = sum(part.unscored for part in found) / (points.size + sum(part.unscored for part in found))
    return RangeView(
        depths=depths,
        law=law,
        test=test,
        distance=distance,
        p_value=test.monte_carlo.p_value,
        missing=missing,
        low=0.0 if early else max(0.0, distance.lower_bound(alpha) - missing),
        high=min(1.0, tv_upper_bound(test, delta=delta, tail_mass=hidden) + missing),
        witness=_witness(depths, found),
    )


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What one round adds to a range."""

    points: NDArray[np.float64]
    hidden: NDArray[np.float64]
    ranks: NDArray[np.int64]
    expected: NDArray[np.float64]
    """How often each rank was to be drawn `[V]`."""
    unscored: int


def _in_range(depths: Range, one: ScoredTokens) -> _Part:
    mine = np.flatnonzero((one.depth >= depths.first) & (one.depth < depths.end))
    context, cell = one.completions.context[mine], one.completions.cell[mine]
    p = one.laws.table.p
    before = np.cumsum(p, axis=1) - p
    points = before[context, cell] + one.completions.uniform[mine] * p[context, cell]
    # A cell of probability 0 begins where the law has ended.
    return _Part(
        points=np.minimum(points, np.nextafter(1, 0)),
        hidden=one.laws.hidden()[context],
        ranks=np.bincount(cell, minlength=p.shape[1]),
        expected=p[context].sum(axis=0),
        unscored=one.unscored_in(depths.first, depths.end),
    )


def _witness(depths: Range, parts: Sequence[_Part]) -> Witness:
    """The rank that was drawn too often or too rarely by most standard deviations."""
    width = max(len(part.expected) for part in parts)
    drawn, expected = np.zeros(width), np.zeros(width)
    for part in parts:
        drawn[: len(part.ranks)] += part.ranks
        expected[: len(part.expected)] += part.expected
    total = drawn.sum()
    spread = np.sqrt(np.maximum(expected * (1 - expected / total), 1e-9))
    worst = int(np.argmax(np.abs(drawn - expected) / spread))
    return Witness(
        what=f"the target's most likely token, {depths.name}"
        if worst == 0
        else f"the target's token of rank {worst + 1}, {depths.name}",
        observed=float(drawn[worst] / total),
        expected=float(expected[worst] / total),
        unit="share of tokens",
    )
