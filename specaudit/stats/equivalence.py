"""Three answers about a deviation: exactness is rejected, the deviation is bounded below the tolerance, or neither.

A test of equality that does not reject shows nothing: with few draws it hardly ever does. What shows that a deviation
is tolerable is an upper confidence bound below the tolerance, a test of the opposite null (Wellek, Testing Statistical
Hypotheses of Equivalence and Noninferiority, 2010). The two errors are apart: α is spent on calling an exact subject a
violator and is split among checks; δ is spent on calling a deviation beyond the tolerance conforming and is not split,
since a suite conforms only if all its required checks do (intersection–union, Berger 1982).
"""

from dataclasses import dataclass

from specaudit.model.finding import Verdict


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What evidence says about a deviation, with everything the answer rests on.

    Attributes:
        verdict: `violates`, `conforms` or `inconclusive`.
        below_tolerance: Exactness is rejected although the deviation is bounded below the tolerance.
        p_value: Of the null that the subject is exact, up to declared slack.
        alpha: Level at which it is rejected.
        upper_bound: Upper confidence bound of the deviation.
        delta: Probability with which the bound may fail.
        tolerance: What is tolerated, in the unit of the bound.
        smallest_detectable: Smallest deviation that the same evidence would have shown with high probability; None if
            it is not known.
    """

    verdict: Verdict
    below_tolerance: bool
    p_value: float
    alpha: float
    upper_bound: float
    delta: float
    tolerance: float
    smallest_detectable: float | None


def decide(
    *,
    p_value: float,
    alpha: float,
    upper_bound: float,
    delta: float,
    tolerance: float,
    smallest_detectable: float | None = None,
) -> Equivalence:
    """Reject exactness, call the deviation tolerable, or neither; a rejection stands whatever the bound.

    An e-value enters as `budget.anytime_p`, several p-values of one null as `budget.combined_p`.

    Args:
        p_value: Of the null that the subject is exact; adjusted for other checks, or compared with a share of α.
        alpha: Level of the test.
        upper_bound: Upper confidence bound of the deviation; infinite where none is known.
        delta: Probability with which the bound may fail.
        tolerance: Deviation below which the subject conforms, positive.
        smallest_detectable: See `Equivalence`; `power.detectable_tv` has it for chi-square tests.

    Raises:
        ValueError: a probability is not inside its range, the bound or the smallest detectable deviation is negative or
            NaN, or the tolerance not positive and finite.
    """
    if not 0 <= p_value <= 1:
        raise ValueError(f"a p-value must be in [0, 1], got {p_value}")
    for name, level in (("alpha", alpha), ("delta", delta)):
        if not 0 < level < 1:
            raise ValueError(f"{name} must be inside (0, 1), got {level}")
    if not upper_bound >= 0:
        raise ValueError(f"an upper bound of a deviation cannot be {upper_bound}")
    if smallest_detectable is not None and not smallest_detectable >= 0:
        raise ValueError(f"a detectable deviation cannot be {smallest_detectable}")
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"a tolerance must be positive and finite, got {tolerance}: exactness itself cannot be shown")
    rejected, bounded = p_value <= alpha, upper_bound < tolerance
    otherwise = Verdict.CONFORMS if bounded else Verdict.INCONCLUSIVE
    return Equivalence(
        verdict=Verdict.VIOLATES if rejected else otherwise,
        below_tolerance=rejected and bounded,
        p_value=p_value,
        alpha=alpha,
        upper_bound=upper_bound,
        delta=delta,
        tolerance=tolerance,
        smallest_detectable=smallest_detectable,
    )
