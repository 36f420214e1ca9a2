"""What a verifier emits against the law that it ought to have: bounds that hold at every sample size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.stats.distance import TotalVariation, tv_from_law
from specaudit.stats.intervals import proportion_lower
from specaudit.verifiers.worlds import Laws, Tokens

TOLERANCE = 0.02
"""Total variation that is tolerated in each part of what is compared."""

_POWER = 0.9


@dataclass(frozen=True, kw_only=True)
class Part:
    """Independent draws that are compared with their laws.

    Attributes:
        name: Which draws they are.
        stratum: Which law each draw ought to have `[N]`.
        cell: What was drawn `[N]`.
        laws: The laws `[S, C]`.
        labels: Each cell of each stratum in words `[S][C]`.
    """

    name: str
    stratum: Tokens
    cell: Tokens
    laws: Laws
    labels: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class JudgedPart:
    """Draws with what bounds their distance from their laws.

    Attributes:
        part: The draws.
        counts: How often each cell of each stratum was drawn `[S, C]`.
        distance: The mean total variation over strata.
        low: Its lower bound.
        high: Its upper bound.
        detectable: The smallest that would have had a positive lower bound with 90 % probability.
    """

    part: Part
    counts: Tokens
    distance: TotalVariation
    low: float
    high: float
    detectable: float

    def view(self, confidence: float) -> View:
        """Return the draws as they stand in the finding."""
        return View(
            name=self.part.name,
            samples=int(self.counts.sum()),
            law="exact",
            effect=self.effect(confidence),
            statistic=Statistic(name="impossible draws", value=float(self.impossible)),
        )

    def effect(self, confidence: float) -> Effect:
        """Return the distance between its bounds."""
        return Effect(
            name="total variation",
            value=self.distance.estimate,
            under_equality=self.distance.expected_under_equality,
            low=self.low,
            high=self.high,
            confidence=confidence,
            tolerance=TOLERANCE,
        )

    @property
    def impossible(self) -> int:
        """Draws that the law excludes."""
        return int(self.counts[self.part.laws == 0].sum())

    @property
    def witness(self) -> Witness:
        """The cell that adds most to the chi-square."""
        sizes = self.counts.sum(axis=1, keepdims=True)
        expected = sizes * self.part.laws
        place = np.argmax((self.counts - expected) ** 2 / np.maximum(expected, 1e-9))
        stratum, cell = map(int, np.unravel_index(place, expected.shape))
        return Witness(
            what=f"{self.part.labels[stratum][cell]}, {self.part.name}",
            observed=float(self.counts[stratum, cell] / sizes[stratum, 0]),
            expected=float(self.part.laws[stratum, cell]),
            unit="share of draws",
        )


def judge_part(part: Part, alpha: float) -> JudgedPart:
    """Bound the distance of draws from their laws from both sides, with error `alpha` each (McDiarmid's bounds).

    One draw that its law excludes shows a deviation by itself, however small it is on the whole.
    """
    strata, cells = part.laws.shape
    counts = np.bincount(part.stratum * cells + part.cell, minlength=part.laws.size).reshape(strata, cells)
    distance = tv_from_law(counts, part.laws)
    noise = [np.sqrt(np.log(1 / error) / (2 * distance.effective_sizes.sum())) for error in (alpha, 1 - _POWER)]
    impossible = int(counts[part.laws == 0].sum())
    excluded = proportion_lower(impossible, len(part.cell), alpha) if impossible else 0.0
    return JudgedPart(
        part=part,
        counts=counts,
        distance=distance,
        low=max(distance.lower_bound(alpha), excluded),
        high=distance.upper_bound(alpha),
        detectable=min(1.0, float(distance.largest_bias + sum(noise))),
    )


def judge(check: str, what: str, parts: Sequence[Part], alpha: float) -> Finding:
    """Bound the total variation of every part, and conclude.

    Args:
        check: Id of the finding.
        what: What was compared, as a sentence begins.
        parts: At least one; each has an even share of `alpha`.
        alpha: Probability with which a lower bound may fail; likewise an upper one.
    """
    share = alpha / len(parts)
    judged = [judge_part(part, share) for part in parts]
    low, high = max(judged, key=lambda one: one.low), max(judged, key=lambda one: one.high)
    worst = low if low.low > 0 else high
    if low.low > 0:
        verdict = Verdict.VIOLATES
        told = f"do not have the target's law: total variation {low.distance.estimate:.3f}, {low.part.name}"
    elif high.high <= TOLERANCE:
        verdict = Verdict.CONFORMS
        told = f"are within total variation {high.high:.4f} of the target's law; {TOLERANCE:g} is tolerated"
    else:
        verdict = Verdict.INCONCLUSIVE
        told = f"are only bounded within total variation {high.high:.3f} of the target's law, {high.part.name}"
    return Finding(
        check=check,
        verdict=verdict,
        required=True,
        summary=f"{what} {told}.",
        effect=worst.effect(1 - share),
        alpha=alpha,
        smallest_detectable=max(one.detectable for one in judged),
        witness=worst.witness if verdict is Verdict.VIOLATES else None,
        views=tuple(one.view(1 - share) for one in judged),
        next_step="Verify more rows: raise rows=" if verdict is Verdict.INCONCLUSIVE else "",
    )
