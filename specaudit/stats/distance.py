"""Total variation: its plug-in estimate, what that estimate is under equality, and bounds that hold.

The plug-in estimate TV̂ is biased upwards, grossly so with many cells, hence never shown without its expectation
under equality. The expectation may not be subtracted to make a bound: once TV exceeds the noise the bias
is gone, and below it TV̂ hardly moves, so that `TV̂ - E[TV̂] + √(ln(1/δ)/(2n))` misses the truth nearly always.

What is bounded is the mean over strata Σ_s w_s TV_s with w_s = h_s / Σ h_s, where h_s is the effective size:
n_s in one sample, so that w_s is the share of draws, and h_s = n_s m_s / (n_s + m_s) in two, which is the
same share when both arms are planned alike. Two arms of n draws have h = n/2; unequal arms count like two of the
harmonic mean 2 / (1/n + 1/m) = 2h.

**Upper bound** (`tv_upper_bound`). Let χ²_s = Σ_c (r_c - p_c)² / p_c for the law r against the law p, in two samples
Σ_c (a_c - b_c)² / p̄_c with p̄ = (n a + m b) / (n + m). X² has noncentrality λ = Σ_s h_s χ²_s. As Σ_c p_c = 1,
Cauchy–Schwarz gives

    TV_s = ½ Σ_c √p_c · |r_c - p_c| / √p_c  ≤  ½ √χ²_s,

and, as Σ_s w_s = 1, once more

    Σ_s w_s TV_s  ≤  ½ Σ_s √w_s · √(w_s χ²_s)  ≤  ½ √(Σ_s w_s χ²_s)  =  ½ √(λ / Σ_s h_s).

An upper confidence bound λ_up therefore bounds the mean TV: by ½√(λ_up/n) in one sample, by √(λ_up/(2n)) in two with n
draws an arm. Pooling cells T into one hides at most ½ Σ_T |r_c - p_c| - ½ |r(T) - p(T)| ≤ min(r(T), p(T)) of a
stratum's TV, hence p(T) is added.

**Upper bound without asymptotics** (`TotalVariation.upper_bound`). By Jensen's inequality E[TV̂] ≥ TV. One draw moves
Σ_s w_s TV̂_s by at most w_s/n_s (w_s/m_s), and the squares of these sum to Σ_s w_s²/h_s = 1/Σ_s h_s, so that
McDiarmid's (1989) inequality gives TV ≤ TV̂ + √(ln(1/δ) / (2 Σ_s h_s)) for independent draws of any law.

**Lower bound** (`TotalVariation.lower_bound`), for every law and by the same inequality:
TV ≥ TV̂ - b - √(ln(1/δ) / (2 Σ_s h_s)) where b bounds E[TV̂] - TV. Against a known law p, b is the expectation under
equality. Cell by cell, for a binomial share r̂ of mean r ≥ p, E|r̂ - p| - |r - p| = 2 E(p - r̂)⁺, which falls as r
grows and so is largest at r = p, where it is E|r̂ - p|; r < p likewise. Between two arms Cauchy–Schwarz gives
E[TV̂_s] - TV_s ≤ ½ Σ_c √(r_c (1 - r_c) / h_s) ≤ ½ √((C_s - 1) / h_s) for the mean law r = (m a + n b) / (n + m), as
x (1 - x) is concave, and since
Σ_c √(r_c (1 - r_c)) ≤ √(C (1 - Σ r_c²)) ≤ √(C - 1).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln, xlog1py, xlogy

from specaudit.stats.chisquare import MIN_EXPECTED, PEARSON, ChiSquareTest
from specaudit.stats.noncentral import noncentrality_at
from specaudit.stats.strata import Counts, Law, Strata, check_counts, check_laws, paired, sampled

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TotalVariation:
    """Plug-in total variation, averaged over strata with their effective sizes as weights.

    Attributes:
        estimate: Σ_s w_s TV̂_s.
        expected_under_equality: Exact expectation of the estimate if the law is the same.
        largest_bias: The most by which the estimate's expectation exceeds the truth, whatever the law.
        by_stratum: TV̂_s of the strata that have draws, in their order `[S]`.
        effective_sizes: h_s, proportional to the weights w_s `[S]`.
    """

    estimate: float
    expected_under_equality: float
    largest_bias: float
    by_stratum: _Array
    effective_sizes: _Array

    def lower_bound(self, delta: float) -> float:
        """Lower confidence bound of the mean TV at level 1 - δ, for every sample size and law; at least 0.

        Raises:
            ValueError: δ is not inside (0, 1).
        """
        return max(0.0, self.estimate - self.largest_bias - self._fluctuation(delta))

    def upper_bound(self, delta: float, *, tail_mass: float = 0.0) -> float:
        """Upper confidence bound of the mean TV at level 1 - δ, for every sample size and law; at most 1.

        With many draws `tv_upper_bound` is smaller, with few draws or rare cells this is the one that holds.

        Args:
            delta: Probability with which the bound may fail.
            tail_mass: As in `tv_upper_bound`.

        Raises:
            ValueError: δ is not inside (0, 1) or the tail's mass not in [0, 1].
        """
        _check_tail(tail_mass)
        return min(1.0, self.estimate + self._fluctuation(delta) + tail_mass)

    def _fluctuation(self, delta: float) -> float:
        _check_delta(delta)
        return float(np.sqrt(np.log(1 / delta) / (2 * self.effective_sizes.sum())))


@dataclass(frozen=True, kw_only=True)
class UpperBound:
    """The smallest of several upper confidence bounds.

    Attributes:
        value: The bound.
        name: Which of them it is.
        delta: Probability with which it may fail, the choice included.
    """

    value: float
    name: str
    delta: float


def tv_from_law(counts: Strata, laws: Strata) -> TotalVariation:
    """Total variation of counts from known laws, `[S, C]` or S arrays `[C_s]` each.

    The expectation under equality is `expected_tv` in its exact form.

    Raises:
        ValueError: bad counts, laws that do not match them, or no draws.
    """
    strata = sampled(counts, laws)
    sizes = [int(row.sum()) for row, _ in strata]
    expectations = [expected_tv(law, n) for (_, law), n in zip(strata, sizes, strict=True)]
    return _total_variation(
        estimates=[np.abs(row / n - law).sum() / 2 for (row, law), n in zip(strata, sizes, strict=True)],
        expectations=expectations,
        biases=expectations,
        effective_sizes=[float(n) for n in sizes],
    )


def tv_between(first: Strata, second: Strata) -> TotalVariation:
    """Total variation between two arms, `[S, C]` or S arrays `[C_s]` each.

    The expectation under equality is that over all permutations of draws between the arms within each
    stratum, in closed form from the mean absolute deviation of the hypergeometric law.

    Raises:
        ValueError: bad counts, arms that do not match, or no stratum in which both arms have draws.
    """
    strata = paired(first, second)
    sizes = [1 / (1 / int(x.sum()) + 1 / int(y.sum())) for x, y in strata]
    return _total_variation(
        estimates=[np.abs(x / x.sum() - y / y.sum()).sum() / 2 for x, y in strata],
        expectations=[
            _hypergeometric_deviation(x + y, int(x.sum())).sum() / (2 * h)
            for (x, y), h in zip(strata, sizes, strict=True)
        ],
        biases=[np.sqrt((len(x) - 1) / h) / 2 for (x, _), h in zip(strata, sizes, strict=True)],
        effective_sizes=sizes,
    )


def expected_tv(law: npt.ArrayLike, draws: int, *, form: Literal["exact", "normal"] = "exact") -> float:
    """Expectation of the plug-in TV of that many draws from the law itself, which is what noise alone looks like.

    Args:
        law: pmf `[C]`.
        draws: n.
        form: `exact` is de Moivre's mean absolute deviation of the binomial law, summed over cells. `normal` is its
            limit (2πn)^-½ Σ_c √(p_c (1 - p_c)), which is far too large where most cells have a small n·p.

    Raises:
        ValueError: the law is none, or there is no draw.
    """
    (pmf,) = check_laws([law], check_counts([np.zeros(np.shape(law))], "law"))
    if draws < 1:
        raise ValueError(f"an expectation over draws needs at least one, got {draws}")
    if form == "normal":
        return float(np.sqrt(pmf * (1 - pmf)).sum() / np.sqrt(2 * np.pi * draws))
    return float(_binomial_deviation(draws, pmf).sum() / (2 * draws))


def tv_upper_bound(test: ChiSquareTest, *, delta: float, tail_mass: float = 0.0) -> float:
    """Upper confidence bound of the mean TV over strata, ½√(λ_up/h) plus what pooling and tails can hide.

    λ_up solves P(χ'²_dof(λ) ≤ X²) = δ. Asymptotic, hence 1, the bound that always holds, unless every expected
    count is at least 5. Proof in the module's docstring. Without degrees of freedom only the hidden mass is left.

    Args:
        test: Result of `goodness_of_fit` or `homogeneity`; of the first, the mass of pooled cells is added.
        delta: Probability with which the bound may fail.
        tail_mass: An upper bound of the mean probability (in either one of the two laws) of the cells that the
            caller lumped before counting.

    Raises:
        ValueError: δ is not inside (0, 1), the tail's mass not in [0, 1], or the test is not Pearson's.
    """
    _check_delta(delta)
    _check_tail(tail_mass)
    if test.power != PEARSON:
        raise ValueError(f"only Pearson's X² bounds a distance, not the divergence of power {test.power:g}")
    if test.smallest_expected < MIN_EXPECTED or test.impossible:
        return 1.0
    noncentrality = noncentrality_at(test.statistic, test.dof, delta) if test.dof else 0.0
    bound = np.sqrt(noncentrality / test.effective_size) / 2 + test.pooled_mass + tail_mass
    return min(1.0, float(bound))


def smallest_upper_bound(bounds: Mapping[str, Callable[[float], float]], delta: float) -> UpperBound:
    """The smallest of several upper bounds of one quantity, each taken at its share of δ (a union bound).

    Choosing after the fact is paid for: of three bounds each is taken at δ/3. A single bound that the plan names costs
    nothing.

    Args:
        bounds: By name, the upper confidence bound of failure probability δ as a function of δ.
        delta: Probability with which the chosen one may fail.

    Raises:
        ValueError: there is no bound, or δ is not inside (0, 1).
    """
    _check_delta(delta)
    if not bounds:
        raise ValueError("there is no bound to choose from")
    values = {name: bound(delta / len(bounds)) for name, bound in bounds.items()}
    name = min(values, key=values.__getitem__)
    return UpperBound(value=values[name], name=name, delta=delta)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must be inside (0, 1), got {delta}")


def _check_tail(tail_mass: float) -> None:
    if not 0 <= tail_mass <= 1:
        raise ValueError(f"a tail of mass {tail_mass} is not a probability")


def _total_variation(
    *,
    estimates: Sequence[float],
    expectations: Sequence[float],
    biases: Sequence[float],
    effective_sizes: Sequence[float],
) -> TotalVariation:
    sizes = np.array(effective_sizes)
    weights = sizes / sizes.sum()
    return TotalVariation(
        estimate=float(weights @ np.array(estimates)),
        expected_under_equality=float(weights @ np.array(expectations)),
        largest_bias=float(weights @ np.array(biases)),
        by_stratum=np.array(estimates),
        effective_sizes=sizes,
    )


def _binomial_deviation(n: int, law: Law) -> _Array:
    """E|X - np| for X binomial: 2 ν C(n, ν) p^ν (1-p)^(n-ν+1), ν = ⌊np⌋ + 1 (de Moivre 1730) `[C]`."""
    nu = np.floor(n * law) + 1
    rest = n - nu + 1
    # ν C(n, ν) = 1 / B(ν, n - ν + 1); at p = 1 the beta function is infinite and the deviation 0.
    deviation: _Array = 2 * np.exp(xlogy(nu, law) + xlog1py(rest, -law) - betaln(nu, rest))
    return deviation


def _hypergeometric_deviation(totals: Counts, n: int) -> _Array:
    """E|X - nK/N| for X draws of a cell with K among n out of N: 2 ν (N-K-n+ν)/N · P(X = ν), ν = ⌊nK/N⌋ + 1.

    With f(x) = x (N-K-n+x) P(x) / N one has f(x) - f(x+1) = (x - nK/N) P(x), and the sum over x ≥ ν
    telescopes to f(ν) (Ramasubban 1958) `[C]`.
    """
    total = int(totals.sum())
    nu = n * totals // total + 1
    log_p = _log_choose(totals, nu) + _log_choose(total - totals, n - nu) - _log_choose(total, n)
    deviation: _Array = 2 * nu * (total - totals - n + nu) / total * np.exp(log_p)
    return deviation


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> _Array:
    """Logarithm of C(n, k), minus infinity for k outside 0 … n."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    inside = (k >= 0) & (k <= n)
    safe = np.where(inside, k, 0)
    logs: _Array = np.where(inside, gammaln(n + 1) - gammaln(safe + 1) - gammaln(n - safe + 1), -np.inf)
    return logs
