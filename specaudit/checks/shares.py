"""A share of trials that went otherwise, as a check reports it."""

from specaudit.model.finding import Effect, Verdict
from specaudit.stats.intervals import proportion_lower, proportion_upper


def share(
    name: str,
    events: int,
    trials: int,
    *,
    delta: float,
    tolerance: float,
    alpha: float | None = None,
    lost: int = 0,
) -> Effect:
    """Return a share between Clopper-Pearson bounds.

    Args:
        name: What it is a share of.
        events: Trials that went otherwise.
        trials: All of them that were seen, at least 1.
        delta: Error probability of the upper bound.
        tolerance: What is tolerated.
        alpha: Error probability of the lower bound; None for no lower bound, where a single event decides.
        lost: Trials whose outcome was not seen; it may be why, so that the upper bound takes them for events.
    """
    return Effect(
        name=name,
        value=events / trials,
        low=None if alpha is None else proportion_lower(events, trials + lost, alpha),
        high=proportion_upper(events + lost, trials + lost, delta),
        confidence=1 - delta,
        tolerance=tolerance,
    )


def decided(effect: Effect, tolerance: float) -> Verdict:
    """Return what the bounds of a share say of a tolerance below which events may be accidents."""
    if effect.low is not None and effect.low > tolerance:
        return Verdict.VIOLATES
    return Verdict.CONFORMS if effect.high is not None and effect.high < tolerance else Verdict.INCONCLUSIVE
