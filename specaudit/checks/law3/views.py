"""Views of LAW3: the tokens of one range of depths, or of one verification path, tested and bounded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.exhibits import cells
from specaudit.checks.law3.depths import BINS, Range
from specaudit.checks.ranks import points_of
from specaudit.checks.tokens import KnownTokens, ScoredTokens
from specaudit.checks.whole_sample import EXCEEDANCES, Levels
from specaudit.model.exhibit import Exhibit
from specaudit.model.finding import Effect, Statistic, View, Witness
from specaudit.stats.chisquare import ChiSquareTest
from specaudit.stats.distance import TotalVariation, tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit

_UNIFORM = np.full(BINS, 1 / BINS)

_BINS = (*(f"{low}/{BINS} to {low + 1}/{BINS}" for low in range(BINS)), "impossible")
"""Names of the bins: parts of the target's law, most likely tokens first, and what it excludes."""


@dataclass(frozen=True, kw_only=True)
class TokensView:
    """Tokens of a range of depths, or that came by one verification path, by their rank in the target's law."""

    name: str
    depths: Range | None
    """None for a path, whose test may accuse and whose bound describes."""
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
    bins: str = f"{BINS} bins of rank"
    """In which tokens are counted."""

    def record(self, tolerance: float, confidence: float) -> View:
        """Return the view as it stands in the finding."""
        return View(
            name=self.name,
            samples=int(self.test.effective_size),
            law=self.law,
            effect=Effect(
                name=f"total variation in {self.bins}",
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


def judge_range(depths: Range, rounds: Sequence[ScoredTokens], law: str, levels: Levels) -> TokensView | None:
    """Test and bound the tokens of one range; None where none was scored.

    Args:
        depths: The range.
        rounds: All that was scored.
        law: How the law is known, for the report.
        levels: Of error.
    """
    known = [one.known for one in rounds if one.known is not None]
    found = [_part(one, (one.depth >= depths.first) & (one.depth < depths.end)) for one in known]
    unscored = sum(one.unscored_in(depths.first, depths.end) for one in rounds)
    view = _judged(depths.name, found, unscored, law, levels)
    return None if view is None else replace(view, depths=depths)


def judge_path(
    path: str, masks: Sequence[NDArray[np.bool_]], rounds: Sequence[ScoredTokens], law: str, levels: Levels
) -> TokensView | None:
    """Test the tokens that came by one path; None where none did.

    What was lost may have come by it.

    Args:
        path: Its name.
        masks: Which tokens of each round came by it `[N]`, for rounds with known tokens.
        rounds: All that was scored.
        law: How the law is known, for the report.
        levels: Of error.
    """
    known = [one.known for one in rounds if one.known is not None]
    found = [_part(one, mask) for one, mask in zip(known, masks, strict=True)]
    return _judged(path, found, sum(len(one.unscored) for one in rounds), law, levels)


def _judged(name: str, found: Sequence["_Part"], unscored: int, law: str, levels: Levels) -> TokensView | None:
    """Test and bound tokens.

    A token becomes the point F(x-) + u p(x) of the target's cumulative law, most likely tokens first, with u uniform:
    under the target's law the points are uniform and independent, whatever the contexts, so that all can be pooled.
    A token that the law excludes has a bin of its own, of mass 0.
    """
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
    test = goodness_of_fit([counts], [law_of_bins], draws=levels.draws, stop_after=EXCEEDANCES, rng=levels.rng)
    assert test.monte_carlo is not None
    distance = tv_from_law([counts], [law_of_bins])
    hidden = float(np.concatenate([part.hidden for part in found]).mean())
    missing = unscored / (scored + unscored)
    unknown = missing + levels.numeric
    high = 1.0 if levels.early else tv_upper_bound(test, delta=levels.delta, tail_mass=hidden) + unknown
    return TokensView(
        name=name,
        depths=None,
        law=law,
        test=test,
        distance=distance,
        p_value=test.monte_carlo.p_value,
        missing=missing,
        low=0.0 if levels.early else max(0.0, distance.lower_bound(levels.alpha) - unknown),
        high=min(1.0, high),
        witness=_witness(name, found),
        cells=cells(
            f"Parts of the target's law, most likely tokens first, {name}",
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


def _part(one: KnownTokens, chosen: NDArray[np.bool_]) -> _Part:
    mine = np.flatnonzero(chosen)
    context, cell, p = one.completions.context[mine], one.completions.cell[mine], one.laws.table.p
    points = points_of(one)
    impossible = points.impossible[mine]
    return _Part(
        points=np.where(impossible, np.nextafter(1, 0), points.at[mine]),
        hidden=points.hidden[mine],
        ranks=np.bincount(cell, minlength=p.shape[1]),
        expected=p[context].sum(axis=0),
        impossible=int(impossible.sum()),
    )


def _witness(name: str, parts: Sequence[_Part]) -> Witness:
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
        what=f"the target's most likely token, {name}"
        if worst == 0
        else f"the target's token of rank {worst + 1}, {name}",
        observed=float(drawn[worst] / total),
        expected=float(expected[worst] / total),
        unit="share of tokens",
    )
