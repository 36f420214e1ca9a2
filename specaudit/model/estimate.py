"""What an audit will ask, what that costs, and what it will be able to see."""

from specaudit.model.limits import Limits, Spending
from specaudit.model.plan import Arm
from specaudit.model.record import FORM_VERSION, Record


class Deviation(Record, frozen=True, kw_only=True):
    """The smallest deviation that a check sees with 90 % probability, or for certain where nothing is drawn."""

    name: str
    """What is measured, e.g. `total variation`."""
    value: float
    unit: str = ""


class CheckEstimate(Record, frozen=True, kw_only=True):
    """What one check will ask. What checks share is counted for the first that asks for it."""

    check: str
    required: bool
    spending: Spending
    smallest_detectable: Deviation | None = None


class Estimate(Record, frozen=True, kw_only=True):
    """What an audit will ask of a healthy engine; one that deviates is asked no more than that."""

    version: int = FORM_VERSION
    suite: str
    arms: tuple[Arm, ...]
    checks: tuple[CheckEstimate, ...]
    probing: Spending
    """At most, to find out what the engines reveal."""
    total: Spending
    """Probing included."""
    cost: float | None
    """In the currency of the prices; None where no price was given."""
    seconds: float
    """At the speed that is assumed, or at the pace that is allowed where that is slower."""
    limits: Limits
    exceeds: str = ""
    """The option whose limit will end the audit before it is done; empty where none will."""
    assumptions: tuple[str, ...]
    """Sentences."""
