"""The error budget of an audit: how α is split, and which checks reject together.

α bounds the probability that a healthy subject is called a violator by any of the planned checks. Holm's procedure
(1979) keeps it whatever the dependence between checks and is never worse than splitting α evenly. It needs valid
p-values only, and 1/sup E of an e-process is one at every time (Ville 1939), so that it may be asked at any moment,
after any stop. The number of *planned* checks counts, also those that in the end had nothing to say: it never shrinks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, pi


@dataclass(frozen=True, kw_only=True)
class Holm:
    """Which planned checks reject at a common level.

    Attributes:
        adjusted: By check, the smallest α at which Holm's procedure would reject it; 1 for those without a p-value.
        rejected: The checks whose adjusted p-value is at most α.
        alpha: Probability with which any check that is fulfilled may be among them.
    """

    adjusted: dict[str, float]
    rejected: frozenset[str]
    alpha: float


def step_level(alpha: float, *, planned: int, rejected: int) -> float:
    """Level of the next check in Holm's procedure: those that are rejected leave their shares to the others.

    Args:
        alpha: The budget of all of them together.
        planned: Checks that were planned; the number never shrinks.
        rejected: Checks that are rejected already.
    """
    return alpha / max(1, planned - rejected)


def holm(p_values: Mapping[str, float | None], alpha: float) -> Holm:
    """Reject step by step: with m planned, the k-th smallest p-value is compared with α/(m - k + 1).

    Args:
        p_values: By planned check; None where a check came to no p-value. It still counts.
        alpha: The budget of all of them together.

    Raises:
        ValueError: no check was planned, a p-value is not in [0, 1] or α not inside (0, 1).
    """
    _check_level(alpha, "alpha")
    if not p_values:
        raise ValueError("there is no planned check")
    known = {name: 1.0 if p is None else _checked_p(p) for name, p in p_values.items()}
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(known, key=known.__getitem__)):
        largest = max(largest, min(1.0, known[name] / step_level(1.0, planned=len(known), rejected=rank)))
        adjusted[name] = largest
    return Holm(
        adjusted={name: adjusted[name] for name in p_values},
        rejected=frozenset(name for name, p in adjusted.items() if p <= alpha),
        alpha=alpha,
    )


def anytime_p(largest_e_value: float) -> float:
    """The p-value 1/sup E of an e-process, valid at every time; 1 if it never rose above 1.

    Raises:
        ValueError: the e-value is negative or NaN.
    """
    if isnan(largest_e_value) or largest_e_value < 0:
        raise ValueError(f"an e-value cannot be {largest_e_value}")
    return min(1.0, 1 / largest_e_value) if largest_e_value else 1.0


def combined_p(p_values: Mapping[str, float], shares: Mapping[str, float] | None = None) -> float:
    """One p-value for one null from several tests of it, each with its share of the level (weighted Bonferroni).

    Args:
        p_values: By test, e.g. of an e-process and of a chi-square test at the planned N.
        shares: By test, any positive weights that the plan fixed; even shares if None.

    Raises:
        ValueError: there is no test, a p-value is not in [0, 1], or the shares are not those of the same tests.
    """
    weights = split(1.0, dict.fromkeys(p_values, 1.0) if shares is None else shares)
    if set(weights) != set(p_values):
        raise ValueError("every test needs its share, and every share its test")
    return min(1.0, min(_checked_p(p) / weights[name] for name, p in p_values.items()))


def split(budget: float, shares: Mapping[str, float]) -> dict[str, float]:
    """Parts of an error budget in proportion to positive shares; they sum to it.

    Raises:
        ValueError: there is no share, or one is not positive and finite.
    """
    total = sum(shares.values())
    if not shares or not all(0 < share < float("inf") for share in shares.values()):
        raise ValueError("shares of a budget must be positive and finite, and there must be one")
    return {name: budget * share / total for name, share in shares.items()}


def look_level(delta: float, look: int) -> float:
    """Level δ_k = 6δ/(π²k²) of the k-th look at a fixed-N quantity; all looks together cost δ.

    Raises:
        ValueError: δ is not inside (0, 1), or looks are not counted from 1.
    """
    _check_level(delta, "delta")
    if look < 1:
        raise ValueError(f"looks are counted from 1, got {look}")
    return 6 * delta / (pi * look) ** 2


def _checked_p(p_value: float) -> float:
    if not 0 <= p_value <= 1:
        raise ValueError(f"a p-value must be in [0, 1], got {p_value}")
    return p_value


def _check_level(level: float, name: str) -> None:
    if not 0 < level < 1:
        raise ValueError(f"{name} must be inside (0, 1), got {level}")
