"""Who is slowed down: acceptance varies over requests, and the step's price is paid by all of them alike."""

from dataclasses import dataclass

from specaudit.claims.speed_up import Speculation
from specaudit.claims.tokens import Shape, acceptance_for


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How acceptance varies over requests: a beta law.

    Attributes:
        mean: its mean.
        deviation: its standard deviation.

    Raises:
        ValueError: no beta law has these.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not 0 < self.mean < 1 or not 0 < self.deviation**2 < self.mean * (1 - self.mean):
            raise ValueError(f"no beta law has mean {self.mean} and standard deviation {self.deviation}")

    @property
    def shape(self) -> tuple[float, float]:
        """The two parameters of the law."""
        size = self.mean * (1 - self.mean) / self.deviation**2 - 1
        return self.mean * size, (1 - self.mean) * size

    def below(self, acceptance: float) -> float:
        """Return the share of requests whose acceptance is lower."""
        from scipy.special import betainc

        return float(betainc(*self.shape, acceptance))

    def quantile(self, share: float) -> float:
        """Return the acceptance that a share of the requests stays below."""
        from scipy.special import betaincinv

        return float(betaincinv(*self.shape, share))


@dataclass(frozen=True, kw_only=True)
class Tail:
    """Who loses in a batch.

    Attributes:
        batch: sequences.
        tokens_needed: tokens a step must emit for a request not to be slowed down.
        acceptance_needed: the acceptance at which it does; None where no acceptance suffices.
        slowed: share of the requests that are slower than without speculation.
        slowest: speed-up of the request at the 1 % quantile of acceptance, which is the p99 of the time per token.
    """

    batch: int
    tokens_needed: float
    acceptance_needed: float | None
    slowed: float
    slowest: float


def tail(speculation: Speculation, shape: Shape, batch: int, context: int, spread: Spread) -> Tail:
    """Say which requests a batch slows down; the acceptance of `speculation` itself does not count."""
    needed = float(speculation.break_even(shape, batch, context))
    enough = acceptance_for(needed, shape.nodes) if needed > 1 else 0.0
    return Tail(
        batch=batch,
        tokens_needed=needed,
        acceptance_needed=enough,
        slowed=1.0 if enough is None else spread.below(enough),
        slowest=shape.tokens(spread.quantile(0.01), speculation.later_child) / needed,
    )
