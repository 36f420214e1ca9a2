"""What a check concludes."""

from enum import StrEnum

import msgspec

from specaudit.model.exhibit import Exhibit
from specaudit.model.record import Record


class Verdict(StrEnum):
    """The four things a check can say."""

    CONFORMS = "conforms"
    """The deviation is bounded below the declared tolerance at the declared error rate."""
    VIOLATES = "violates"
    """Exactness is rejected at the check's share of the error budget."""
    INCONCLUSIVE = "inconclusive"
    """Neither could be shown; the finding says what is missing."""
    NOT_APPLICABLE = "not-applicable"
    """This endpoint does not reveal what the check needs."""


class Effect(Record, frozen=True, kw_only=True):
    """A measured size with its confidence bounds, beside what is tolerated."""

    name: str
    value: float
    """The plug-in estimate, or the count itself."""
    under_equality: float | None = None
    """What the estimate is on average when there is no deviation at all; estimates of distances are biased upwards."""
    low: float | None
    high: float | None
    confidence: float
    """Of each bound by itself, e.g. .999."""
    tolerance: float | None = None
    unit: str = ""


class Statistic(Record, frozen=True, kw_only=True):
    """A test statistic with its p-value."""

    name: str
    value: float | None
    """None where it is infinite: something impossible was observed."""
    degrees_of_freedom: int | None = None
    p_value: float | None = None
    method: str = ""
    """How the p-value was computed."""


class Betting(Record, frozen=True, kw_only=True):
    """What a bet against the null earned: evidence that may be looked at after every request."""

    log_e: float | None
    """Natural logarithm of the largest e-value so far; None where it is infinite: something impossible was emitted."""
    p_value: float
    """1 over the largest e-value, at most 1: valid whenever collecting stops."""
    tokens: int
    """Tokens looked at."""
    rejected_after: int | None
    """Tokens after which the null was rejected at the bet's share of the error budget; None where it was not."""
    leader: str
    """The bet that earned most: what the deviation looks like."""
    threshold: float | None = None
    """Natural logarithm of the e-value from which on it rejects: 1 over its share of the error budget."""
    path: tuple[tuple[int, float | None], ...] = ()
    """(tokens looked at, natural logarithm of the e-value then), in some hundred steps from nothing to the end; the
    logarithm is None where it is infinite."""


class Witness(Record, frozen=True, kw_only=True):
    """The one thing that shows the deviation best, in words and in numbers."""

    what: str
    """A sentence fragment, e.g. `word 2 0 1 at depth 3`."""
    observed: float | None
    expected: float | None
    unit: str


class View(Record, frozen=True, kw_only=True):
    """One part of what a check looked at, e.g. the words that start at one depth."""

    name: str
    samples: int
    """Number of draws of the subject that were counted."""
    law: str
    """Level at which the target law was known: exact, scored or sampled."""
    effect: Effect
    statistic: Statistic
    verdict: Verdict | None = None
    """Of this part by itself, where it has one."""


class Finding(Record, frozen=True, kw_only=True):
    """A verdict with everything needed to act on it."""

    check: str
    verdict: Verdict
    required: bool
    summary: str
    """One plain sentence."""
    effect: Effect | None = None
    statistic: Statistic | None = None
    betting: Betting | None = None
    alpha: float | None = None
    """The check's share of the error budget."""
    smallest_detectable: float | None = None
    """The smallest effect that this evidence would have shown with 90 % probability."""
    below_tolerance: bool = False
    """Exactness is rejected, yet the deviation is bounded below the tolerance."""
    witness: Witness | None = None
    views: tuple[View, ...] = ()
    coverage: dict[str, int | None] = msgspec.field(default_factory=dict)
    """How often each verification path was taken, at least; None where it cannot be seen."""
    measured: dict[str, float] = msgspec.field(default_factory=dict)
    """Further figures, by name."""
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    """Series behind the figures."""
    next_step: str = ""
    """The command or action to try next."""
