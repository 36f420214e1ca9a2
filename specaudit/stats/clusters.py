"""Two arms whose draws come in clusters: the words of one completion depend on each other.

Each cluster, a completion, counts for the shares of its m words `y [C]`, and clusters are independent. Within a stratum
let d be the difference of the arms' mean shares, S the covariance of y pooled over both arms, h = nm'/(n+m') for n and
m' clusters. Wald's statistic

    X² = Σ_s h_s d_s' S_s⁻ d_s

is asymptotically χ² with Σ_s (C_s - 1) degrees of freedom under equality, however the words of a cluster depend on each
other, and noncentral with λ = Σ_s h_s δ_s' S_s⁻ δ_s otherwise. Were the words independent, m S would be
M = diag(p) - pp', and δ' M⁻ δ = Σ_c δ_c² / p_c ≥ 4 TV² (`distance`). The largest eigenvalue f of m S against M, the
design effect (Rao and Scott 1981), tells by how much clusters say less than that: S ≤ f M / m, hence

    δ' S⁻ δ ≥ (m / f) 4 TV²   and   Σ_s w_s TV_s ≤ ½ √(λ / Σ_s (h_s m_s / f_s)).

So f is taken from the data, where its largest eigenvalue is biased upwards: that widens the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.special import chdtrc

from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.noncentral import noncentrality_at

_Array = npt.NDArray[np.float64]

_ROUNDING = 1e-9
"""Share of words below which a difference is one of rounding."""


@dataclass(frozen=True, kw_only=True)
class ClusteredComparison:
    """Wald's test of two arms with clustered draws.

    Attributes:
        statistic: X², summed over strata.
        dof: Degrees of freedom.
        estimate: Plug-in total variation between the arms, averaged over strata.
        expected_under_equality: What the estimate is on average without any deviation (normal approximation).
        effective_size: Σ_s h_s m_s / f_s: words, as if they were independent, in the sense of `ChiSquareTest`.
        design_effect: The largest f_s.
        clusters: Σ_s h_s.
        smallest_expected: Smallest expected count of words among the cells of an arm.
    """

    statistic: float
    dof: int
    estimate: float
    expected_under_equality: float
    effective_size: float
    design_effect: float
    clusters: float
    smallest_expected: float

    @property
    def p_value(self) -> float:
        """P(χ²_dof ≥ X²): asymptotic, so that it describes and decides nothing."""
        return float(chdtrc(self.dof, self.statistic)) if self.dof else 1.0

    def upper_bound(self, delta: float) -> float:
        """Upper confidence bound of the mean TV over strata at level 1 - δ; 1 where a cell is ill filled.

        Raises:
            ValueError: δ is not inside (0, 1).
        """
        if not 0 < delta < 1:
            raise ValueError(f"delta must be inside (0, 1), got {delta}")
        if self.smallest_expected < MIN_EXPECTED:
            return 1.0
        noncentrality = noncentrality_at(self.statistic, self.dof, delta) if self.dof else 0.0
        return min(1.0, float(np.sqrt(noncentrality / self.effective_size) / 2))

    def lower_bound(self, delta: float) -> float:
        """Lower confidence bound of the mean TV at level 1 - δ, by McDiarmid's inequality over clusters; at least 0.

        One cluster moves the estimate as one draw does in `distance`, and the estimate's bias is at most half the sum
        of the cells' standard deviations, here as if all words of a cluster were one.
        """
        bias = np.sqrt((self.dof + 1) / self.clusters) / 2
        return max(0.0, float(self.estimate - bias - np.sqrt(np.log(1 / delta) / (2 * self.clusters))))


def compare_clusters(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike]) -> ClusteredComparison:
    """Compare two arms, stratum by stratum.

    Args:
        first: Counts of words by cluster and cell `[R_s, C_s]` of one arm, one array per stratum; every cluster of a
            stratum has as many words.
        second: The same cells in the other arm. Strata that either arm left with fewer than two clusters are passed
            over, cells that neither arm saw are dropped.

    Raises:
        ValueError: arms that do not match, or no stratum is left.
    """
    parts = [
        _compared(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        for x, y in zip(first, second, strict=True)
        if len(np.asarray(x)) > 1 and len(np.asarray(y)) > 1
    ]
    if not parts:
        raise ValueError("no stratum has clusters in both arms")
    weights = np.array([part.clusters for part in parts])
    weights /= weights.sum()
    return ClusteredComparison(
        statistic=sum(part.statistic for part in parts),
        dof=sum(part.dof for part in parts),
        estimate=float(weights @ [part.estimate for part in parts]),
        expected_under_equality=float(weights @ [part.expected_under_equality for part in parts]),
        effective_size=sum(part.effective_size for part in parts),
        design_effect=max(part.design_effect for part in parts),
        clusters=sum(part.clusters for part in parts),
        smallest_expected=min(part.smallest_expected for part in parts),
    )


def design_effect(counts: npt.ArrayLike) -> float:
    """Return f, how many clustered words say as much as one independent word at worst; 1 with less than two cells.

    Args:
        counts: Words by cluster and cell `[R, C]`.
    """
    table = np.asarray(counts, dtype=np.float64)
    seen = table[:, table.sum(axis=0) > 0]
    words = float(seen[0].sum())
    shares = seen / words
    return design_effect_of(np.atleast_2d(np.cov(shares.T)), shares.mean(axis=0), words) if seen.shape[1] > 1 else 1.0


def _compared(x: _Array, y: _Array) -> ClusteredComparison:
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"arms of {x.shape[1]} and {y.shape[1]} cells cannot be compared")
    seen = x.sum(axis=0) + y.sum(axis=0) > 0
    x, y = x[:, seen], y[:, seen]
    words = float(x[0].sum())
    ours, theirs = x / words, y / words
    h = len(x) * len(y) / (len(x) + len(y))
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    law = np.concatenate([ours, theirs]).mean(axis=0)
    freedom = len(x) + len(y) - 2
    centred = np.concatenate([ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)])
    covariance = centred.T @ centred / max(1, freedom)
    dof = len(law) - 1
    f = design_effect_of(covariance, law, words) if dof else 1.0
    inverse = np.linalg.pinv(covariance[1:, 1:], hermitian=True)
    # A difference along which clusters never differ has no variance to be held against, and would enter as nothing.
    unseen = difference[1:] - covariance[1:, 1:] @ (inverse @ difference[1:])
    told = f > 0 and bool(np.abs(unseen).max(initial=0.0) <= _ROUNDING)
    smallest = min(len(x), len(y)) * words * float(law.min()) * told if dof else np.inf
    return ClusteredComparison(
        statistic=float(h * difference[1:] @ inverse @ difference[1:]) if dof else 0.0,
        dof=dof,
        estimate=float(np.abs(difference).sum() / 2),
        expected_under_equality=float(np.sqrt(np.diag(covariance) / h).sum() / np.sqrt(2 * np.pi)),
        effective_size=h * words / (f or 1.0),
        design_effect=f,
        clusters=h,
        smallest_expected=smallest,
    )


def design_effect_of(covariance: _Array, law: _Array, words: float) -> float:
    """Return the largest eigenvalue of m S against the multinomial covariance M.

    Args:
        covariance: S, of a cluster's shares `[C, C]`.
        law: Mean shares `[C]`; they sum to 1, so that one cell says nothing.
        words: m, in a cluster.
    """
    rest = law[1:]
    independent = np.diag(rest) - np.outer(rest, rest)
    return float(eigh(words * covariance[1:, 1:], independent, eigvals_only=True)[-1])
