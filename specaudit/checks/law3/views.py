"""One view of LAW3: the tokens of one range of depths, tested and bounded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.exhibits import cells
from specaudit.checks.law3.depths import BINS, Range
from specaudit.checks.tokens import KnownTokens, ScoredTokens
from specaudit.checks.whole_sample import EXCEEDANCES
from specaudit.model.exhibit import Exhibit
from specaudit.model.finding import Effect, Statistic, View, Witness
from specaudit.stats.chisquare import ChiSquareTest
from specaudit.stats.distance import TotalVariation, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit

_UNIFORM = np.full(BINS, 1 / BINS)

_BINS = (*(f"{low}/{BINS} to {low + 1}/{BINS}" for low in range(BINS)), "impossible")
"""Names of the bins: parts of the target's law, most likely tokens first, and what it excludes."""


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
    """1 where the sample was ended by what it showed: bounds at a planned size do not hold then."""
    witness: Witness
    cells: Exhibit

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

    A token becomes the point F(x-) + u p(x) of the target's cumulative law, most likely tokens first, with u uniform:
    under the target's law the points are uniform and independent, whatever the contexts, so that all can be pooled.
    A token that the law excludes has a bin of its own, of mass 0.

    Args:
        depths: The range.
        rounds: All that was scored.
        law: How the law is known, for the report.
        alpha: Error level of the lower bound.
        delta: Error level of the upper bound.
        draws: Null draws behind the p-value at most.
        rng: Of those.
        early: The sample was ended by what it showed, so that bounds at a planned size do not hold.
    """
    found = [_in_range(depths, one.known) for one in rounds if one.known is not None]
    scored = sum(part.points.size for part in found)
    if not scored:
        return None
    impossible = sum(part.impossible for part in found)
    bins = (np.concatenate([part.points for part in found]) * BINS).astype(np.int64)
    counts = np.bincount(bins, minlength=BINS)[:BINS]
    counts[-1] -= impossible
    counts, law_of_bins = (
        (np.append(counts, impossible), np.append(_UNIFORM, 0.0)) if impossible else (counts, _UNIFORM)
    )
    test = goodness_of_fit([counts], [law_of_bins], draws=draws, stop_after=EXCEEDANCES, rng=rng)
    assert test.monte_carlo is not None
    distance = tv_from_law([counts], [law_of_bins])
    hidden = float(np.concatenate([part.hidden for part in found]).mean())
    unscored = sum(one.unscored_in(depths.first, depths.end) for one in rounds)
    missing = unscored / (scored + unscored)
    return RangeView(
        depths=depths,
        law=law,
        test=test,
        distance=distance,
        p_value=test.monte_carlo.p_value,
        missing=missing,
        low=0.0 if early else max(0.0, distance.lower_bound(alpha) - missing),
        high=1.0 if early else min(1.0, tv_upper_bound(test, delta=delta, tail_mass=hidden) + missing),
        witness=_witness(depths, found),
        cells=cells(
            f"Parts of the target's law, most likely tokens first, {depths.name}",
            _BINS[: len(counts)],
            counts,
            law_of_bins * counts.sum(),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What one round adds to a range."""

    points: NDArray[np.float64]
    hidden: NDArray[np.float64]
    ranks: NDArray[np.int64]
    expected: NDArray[np.float64]
    """How often each rank was to be drawn `[V]`."""
    impossible: int
    """Points that stand in the last bin for want of a better place."""


def _in_range(depths: Range, one: KnownTokens) -> _Part:
    mine = np.flatnonzero((one.depth >= depths.first) & (one.depth < depths.end))
    context, cell = one.completions.context[mine], one.completions.cell[mine]
    p = one.laws.table.p
    before = np.cumsum(p, axis=1) - p
    points = before[context, cell] + one.completions.uniform[mine] * p[context, cell]
    # A cell of probability 0 begins where the law has ended, up to rounding.
    return _Part(
        points=np.where(p[context, cell] == 0, np.nextafter(1, 0), np.minimum(points, np.nextafter(1, 0))),
        hidden=one.laws.hidden()[context],
        ranks=np.bincount(cell, minlength=p.shape[1]),
        expected=p[context].sum(axis=0),
        impossible=int((p[context, cell] == 0).sum()),
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
