"""Model-equality testing: the Hamming maximum mean discrepancy between two arms, in closed form from counts.

Gao, Liang and Guestrin (2024) compare completions x, y of the same prompt by the share k(x, y) of positions at which
they hold the same token, and pairs of different prompts by 0. With n_p and m_p completions of prompt p an arm, their
unbiased estimate of MMD² (Gretton et al. 2012) is

    Σ_p Σ_{i≠j} k(x_i, x_j) / Σ_p n_p (n_p - 1) + the same of y - 2 Σ_p Σ_{ij} k(x_i, y_j) / Σ_p n_p m_p.

With c and d the counts of each arm by prompt, position and token, pairs that agree are counted by
Σ_{i,j} k(x_i, x_j) = Σ c² / L and Σ_{i,j} k(x_i, y_j) = Σ c d / L, so that no pair need be formed:

    (Σ c² - n L) / (L Σ n_p (n_p - 1)) + (Σ d² - m L) / (L Σ m_p (m_p - 1)) - 2 Σ c d / (L Σ n_p m_p).

Completions of unequal lengths are padded with -1 to the longest of both arms, and a padding agrees with a padding, as
in the authors' package. The statistic sees the law of each position by itself: a fault that lives in the joint law of
tokens, as faults of verification do, moves it little. It is reported because it is what others report.

**Permutation.** H0: given the prompt, both arms draw independently from one law. Completions are permuted between the
arms within each prompt. With Σ_p K² fixed for the pooled counts K = c + d, the statistic depends on the assignment
a_i ∈ {0, 1} only through the linear form Σ c K = Σ_i a_i k_i and the quadratic form Σ c² = Σ_ij a_i a_j L k(x_i, x_j).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specaudit.stats.histogram import END
from specaudit.stats.montecarlo import MonteCarlo, monte_carlo

_Array = npt.NDArray[np.float64]
_Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class HammingMMD:
    """The discrepancy of two arms.

    Attributes:
        estimate: Unbiased estimate of MMD²; about 0, and as often below as above, if the arms are equal.
        monte_carlo: p-value by permutation within prompts, if draws were asked for.
    """

    estimate: float
    monte_carlo: MonteCarlo | None


@dataclass(frozen=True, kw_only=True)
class _Prompt:
    """The completions of both arms to one prompt, N = n + m, the first arm's first.

    Attributes:
        columns: Token ids, renumbered by position, `[N, L]`.
        size: n, completions of the first arm.
        pooled: Σ K², over positions and tokens.
        linear: k_i = Σ of K at completion i's own tokens `[N]`.
    """

    columns: _Tokens
    size: int
    pooled: float
    linear: _Array


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """Number of pairs of completions to the same prompt, and positions: what the sums are divided by."""

    length: int
    sizes: tuple[int, int]
    within: tuple[int, int]
    between: int

    def estimate(self, quadratic: _Array, linear: _Array, pooled: float) -> _Array:
        """MMD² from Σ c² `[B]`, Σ c K `[B]` and Σ K², all summed over prompts."""
        first = (quadratic - self.sizes[0] * self.length) / self.within[0]
        second = (pooled - 2 * linear + quadratic - self.sizes[1] * self.length) / self.within[1]
        return (first + second - 2 * (linear - quadratic) / self.between) / self.length


def hamming_mmd(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    first_prompts: npt.ArrayLike,
    second_prompts: npt.ArrayLike,
    *,
    draws: int = 0,
    stop_after: int | None = None,
    rng: np.random.Generator | None = None,
) -> HammingMMD:
    """Compare two arms by the tokens at each position of their completions.

    Args:
        first: Token ids (or code points) of one arm, `[N, T]`, padded with -1.
        second: Of the other, `[M, U]`; the narrower of the two is padded.
        first_prompts: The prompt that each completion answers, any integers, `[N]`.
        second_prompts: The same of the other arm `[M]`. A prompt that only one arm answered counts in that arm's own
            pairs.
        draws: Permutations, m; 0 for none. An audit needs m ≥ 10 · checks / α.
        stop_after: Exceedances after which permuting stops (Besag–Clifford); None makes all draws.
        rng: Generator of the permutations.

    Raises:
        ValueError: bad shapes or tokens, no prompt that both arms answered, an arm that answered no prompt twice, or
            draws without `rng`.
    """
    x, x_prompts = _completions(first, first_prompts, "first arm")
    y, y_prompts = _completions(second, second_prompts, "second arm")
    length = max(x.shape[1], y.shape[1])
    pooled = np.concatenate([_padded(x, length), _padded(y, length)])
    names, prompts = np.unique(np.concatenate([x_prompts, y_prompts]), return_inverse=True)
    ours, theirs = (np.bincount(part, minlength=len(names)) for part in (prompts[: len(x)], prompts[len(x) :]))
    pairs = _pairs(ours, theirs, length)
    answered = [_prompt(pooled[rows], int(np.count_nonzero(rows < len(x)))) for rows in _rows(prompts, len(names))]
    total = sum(prompt.pooled for prompt in answered)
    quadratic = np.array([float(sum(_squares(prompt.columns[: prompt.size]) for prompt in answered))])
    linear = np.array([float(sum(prompt.linear[: prompt.size].sum() for prompt in answered))])
    estimate = pairs.estimate(quadratic, linear, total).item()
    permuted = None
    if draws:
        if rng is None:
            raise ValueError("permutations need a random generator")
        agreements = [_agreements(prompt.columns) for prompt in answered]
        permuted = monte_carlo(
            estimate,
            lambda batch: pairs.estimate(*_permuted_forms(answered, agreements, batch, rng), total),
            draws=draws,
            stop_after=stop_after,
            cells=max(len(prompt.linear) for prompt in answered),
        )
    return HammingMMD(estimate=estimate, monte_carlo=permuted)


def _completions(tokens: npt.ArrayLike, prompts: npt.ArrayLike, name: str) -> tuple[_Tokens, npt.NDArray[np.int64]]:
    table, asked = np.asarray(tokens), np.asarray(prompts)
    if table.ndim != 2 or not table.size or not np.issubdtype(table.dtype, np.integer) or (table < END).any():
        raise ValueError(f"{name}: tokens must be integers from -1 on, of shape [N, T], and at least one")
    if asked.shape != table.shape[:1] or not np.issubdtype(asked.dtype, np.integer):
        raise ValueError(f"{name}: there must be one prompt for each of {len(table)} completions, got {asked.shape}")
    return table.astype(np.int64), asked.astype(np.int64)


def _padded(tokens: _Tokens, length: int) -> _Tokens:
    return np.pad(tokens, ((0, 0), (0, length - tokens.shape[1])), constant_values=END)


def _pairs(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], length: int) -> _Pairs:
    within = (int(first @ (first - 1)), int(second @ (second - 1)))
    between = int(first @ second)
    if not between:
        raise ValueError("there is no prompt that both arms answered")
    if not all(within):
        raise ValueError("each arm must answer some prompt at least twice")
    return _Pairs(length=length, sizes=(int(first.sum()), int(second.sum())), within=within, between=between)


def _rows(prompts: npt.NDArray[np.int64], count: int) -> list[npt.NDArray[np.int64]]:
    """The completions of each prompt, in their order."""
    return np.split(np.argsort(prompts, kind="stable"), np.bincount(prompts, minlength=count).cumsum()[:-1])


def _prompt(tokens: _Tokens, size: int) -> _Prompt:
    """Renumber tokens so that those of different positions differ, and count them."""
    spread = tokens + np.arange(tokens.shape[1]) * (tokens.max() + 2)
    _, inverse, counts = np.unique(spread, return_inverse=True, return_counts=True)
    columns = inverse.reshape(tokens.shape)
    return _Prompt(
        columns=columns,
        size=size,
        pooled=float(counts @ counts),
        linear=counts[columns].sum(axis=1).astype(np.float64),
    )


def _squares(columns: _Tokens) -> int:
    """Σ c²."""
    counts = np.bincount(columns.ravel())
    return int(counts @ counts)


def _agreements(columns: _Tokens) -> _Array:
    """Positions at which two completions hold the same token, L k(x_i, x_j) `[N, N]`."""
    from scipy.spatial.distance import pdist, squareform

    length = columns.shape[1]
    agreements: _Array = length - np.rint(length * squareform(pdist(columns, "hamming")))
    return agreements


def _permuted_forms(
    answered: Sequence[_Prompt], agreements: Sequence[_Array], batch: int, rng: np.random.Generator
) -> tuple[_Array, _Array]:
    """Σ c² `[B]` and Σ c K `[B]` of random reassignments of completions to arms."""
    quadratic, linear = np.zeros(batch), np.zeros(batch)
    for prompt, agreement in zip(answered, agreements, strict=True):
        chosen = np.zeros((batch, len(agreement)))
        chosen[:, : prompt.size] = 1
        chosen = rng.permuted(chosen, axis=1, out=chosen)
        quadratic += np.einsum("bi,bi->b", chosen @ agreement, chosen)
        linear += chosen @ prompt.linear
    return quadratic, linear
