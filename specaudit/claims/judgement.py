"""What is concluded of a claim, with everything that led there."""

from enum import StrEnum

from specaudit.model.claim import Claim
from specaudit.model.record import FORM_VERSION, Record


class Ruling(StrEnum):
    """The six things that can be said of a claim."""

    IMPOSSIBLE = "impossible"
    """Memory or arithmetic forbid it under the conditions that were stated, whatever the others were."""
    CONDITIONAL = "possible only if"
    """Memory and arithmetic allow it, but only where something that was not stated is better than usual."""
    PLAUSIBLE = "plausible"
    """It is within what is usual; nothing was measured."""
    MEASURED_TRUE = "measured true"
    """The evidence confirms every number that it shows."""
    MEASURED_FALSE = "measured false"
    """The evidence refutes a number."""
    NOT_MEASURABLE = "not measurable from outside"
    """No endpoint shows it: e.g. a factor over something that nobody else can run."""


class Range(Record, frozen=True, kw_only=True):
    """The values of a condition for which the claim can be true, whatever the other unstated ones are."""

    condition: str
    low: float | None = None
    """Smallest value; None for conditions that are names."""
    high: float | None = None
    names: tuple[str, ...] = ()
    """For conditions that are names."""
    bounded_below: bool = False
    """Whether smaller values were looked at and do not do."""
    bounded_above: bool = False
    words: str
    """The same, to be read."""


class Measured(Record, frozen=True, kw_only=True):
    """A number of the claim beside what an audit measured."""

    number: str
    claimed: str
    value: float | None
    low: float | None
    high: float | None
    confirmed: bool | None
    """None where the interval decides neither way."""
    words: str


class Judgement(Record, frozen=True, kw_only=True):
    """A claim, judged."""

    version: int = FORM_VERSION
    name: str
    """Of the file it came from."""
    claim: Claim
    ruling: Ruling
    tokens_needed: float | None = None
    """Tokens a step must emit, by the one division; None where it cannot be made."""
    over_ceiling: float | None = None
    """How many times too large the figure is; None where it is not."""
    reasons: tuple[str, ...]
    """Sentences, the one division first."""
    only_if: tuple[Range, ...] = ()
    """What unstated conditions must be, as far as memory and arithmetic go."""
    usually: tuple[Range, ...] = ()
    """The same at usual efficiency; empty where the claim is beyond it."""
    questions: tuple[str, ...]
    """For whoever made the claim."""
    measured: tuple[Measured, ...] = ()
    evidence_digest: str = ""
