"""Two arms that draw side by side, once each in the same contexts: how far apart their laws are on average.

In context i one arm draws x ~ r_i and the other y ~ p_i, independent of each other given everything before; contexts
are whatever they are. With e the unit vectors of C cells let d_i = e_x - e_y, D the mean of n of them, S their
covariance, and δ the mean of r_i - p_i over the contexts. Then

    X² = n D' S⁻ D

is asymptotically noncentral χ² with C - 1 degrees of freedom and λ = n δ' S⁻ δ (Wald's statistic of paired
differences; the deviations d_i - E d_i are martingale differences). Within a context the covariance of d is that of two
draws, and pooling contexts can only add to it: with m the mean of r_i and p_i over all contexts and M = diag(m) - mm',
S is at most 2M, as draws of the pooled laws would have it, or f·2M with f ≤ 1 where contexts tell much of their tokens.
As δ' M⁻ δ = Σ_c δ_c² / m_c ≥ 4 TV² (`distance`),

    TV ≤ ½ √(λ / (n / 2f)).

So f is taken from the data as the largest eigenvalue of S against 2M, which is biased upwards: that widens the bound.
A test that takes the pairs for two samples of n draws instead has f = 1: it is wider, and no less valid.
"""

import numpy as np
import numpy.typing as npt

from specaudit.stats.clusters import ClusteredComparison, design_effect_of

_Array = npt.NDArray[np.float64]

_ROUNDING = 1e-9


def compare_matched(first: npt.ArrayLike, second: npt.ArrayLike, cells: int) -> ClusteredComparison:
    """Compare two arms pair by pair.

    Args:
        first: Cell of one arm's draw in each context `[N]`, 0 to `cells` - 1.
        second: The other arm's, in the same contexts `[N]`.
        cells: How many there are, chosen before any of these draws was seen. Cells that neither arm saw are dropped.

    Raises:
        ValueError: shapes disagree, there are fewer than two pairs, or a cell is none.
    """
    x, y = np.asarray(first), np.asarray(second)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"matched draws are two arrays [N] with N at least 2, got {list(x.shape)} and {list(y.shape)}")
    if min(x.min(), y.min()) < 0 or max(x.max(), y.max()) >= cells:
        raise ValueError(f"a draw is in none of {cells} cells")
    # How often each pair of cells came tells everything.
    joint = np.bincount(x * cells + y, minlength=cells * cells).reshape(cells, cells)
    seen = np.flatnonzero(joint.sum(axis=0) + joint.sum(axis=1))
    joint = joint[np.ix_(seen, seen)].astype(np.float64)
    n, dof = float(len(x)), len(seen) - 1
    ours, theirs = joint.sum(axis=1) / n, joint.sum(axis=0) / n
    difference, law = ours - theirs, (ours + theirs) / 2
    moment = np.diag(ours + theirs) - (joint + joint.T) / n
    covariance = (moment - np.outer(difference, difference)) * n / (n - 1)
    # Two draws of the pooled law differ with a covariance of 2M; one cell follows from the others.
    f = design_effect_of(covariance / 2, law, 1.0) if dof else 1.0
    inverse = np.linalg.pinv(covariance[1:, 1:], hermitian=True)
    # A difference along which pairs never vary has nothing to be held against, and would enter as nothing.
    unseen = difference[1:] - covariance[1:, 1:] @ (inverse @ difference[1:])
    told = f > 0 and bool(np.abs(unseen).max(initial=0.0) <= _ROUNDING)
    return ClusteredComparison(
        statistic=float(n * difference[1:] @ inverse @ difference[1:]) if dof else 0.0,
        dof=dof,
        estimate=float(np.abs(difference).sum() / 2),
        expected_under_equality=float(np.sqrt(np.diag(covariance) / n).sum() / np.sqrt(2 * np.pi)),
        effective_size=n / 2 / (f or 1.0),
        design_effect=f,
        clusters=n / 2,
        smallest_expected=n * float(law.min()) * told if dof else np.inf,
    )
