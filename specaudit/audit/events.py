"""What happens during an audit, told to whoever wants to show it. Progress never enters the core."""

from collections.abc import Callable
from dataclasses import dataclass, field

from specaudit.model.capabilities import Capabilities
from specaudit.model.finding import Betting
from specaudit.model.limits import NOTHING, UNLIMITED, Limits, Spending
from specaudit.model.plan import Arm, Role, Stage


@dataclass(frozen=True)
class Probed:
    """An arm was probed."""

    arm: Arm
    capabilities: Capabilities


@dataclass(frozen=True)
class Resumed:
    """An audit that was broken off goes on."""

    answered: int
    """Requests that were answered before."""
    sealed: bool
    """The audit had come to its end; nothing is left to ask."""


@dataclass(frozen=True)
class StageStarted:
    """A stage is planned and about to be collected, or what is left of it."""

    stage: Stage
    settled: int = 0
    """Requests that were answered or lost before the audit was resumed."""
    limits: Limits = field(default=UNLIMITED, compare=False)
    """Of the whole audit."""


@dataclass(frozen=True)
class RequestEnded:
    """A slot was answered, or given up."""

    answered: bool
    tokens: int
    spent: Spending = field(default=NOTHING, compare=False)
    """By the whole audit until now."""


@dataclass(frozen=True)
class Earned:
    """What a check's bets against the null have earned, told between its stages."""

    check: str
    betting: Betting


@dataclass(frozen=True)
class RateLimited:
    """An arm limits how often it is asked, which is told once: from now on it is asked as often as it allows."""

    arm: Role


@dataclass(frozen=True)
class Judging:
    """Collecting has ended; the checks run."""


Event = Probed | Resumed | StageStarted | RequestEnded | Earned | RateLimited | Judging
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Listen to nothing."""
