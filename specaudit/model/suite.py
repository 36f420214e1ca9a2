"""A suite: what to check, with which tolerances, which checks are required, and the error budget."""

from typing import Annotated, Any

import msgspec

from specaudit.model.record import Record
from specaudit.model.request import Sampling

_MIXED = (
    Sampling(),
    Sampling(temperature=0.7, top_p=0.9),
    Sampling(temperature=1.3, top_k=40, top_p=0.95),
)


class Background(Record, frozen=True, kw_only=True):
    """Traffic beside the subject's requests: sampled, of mixed parameters and ragged lengths.

    Real engines were right alone and wrong beside it. It is collected, recorded and paid for, and enters no test.
    """

    requests: Annotated[float, msgspec.Meta(gt=0, le=8)] = 1.0
    """For each request of the subject; all share the requests in flight at once."""
    max_tokens: tuple[Annotated[int, msgspec.Meta(ge=1)], Annotated[int, msgspec.Meta(ge=1)]] = (8, 48)
    """Smallest and largest cap."""
    sampling: Annotated[tuple[Sampling, ...], msgspec.Meta(min_length=1)] = _MIXED
    """Taken in turn."""

    def __post_init__(self) -> None:
        if self.max_tokens[0] > self.max_tokens[1]:
            raise ValueError("the smallest cap comes before the largest")


class PromptSettings(Record, frozen=True, kw_only=True):
    """Where the prompts of a suite's checks come from: what `[prompts]` of a suite may say."""

    sets: tuple[str, ...] = ()
    """Names of prompt sets, e.g. `["code", "prose"]`; the mixed set where none is named. `specaudit list prompts`."""
    candidates: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    """Prompts that are tried before the LAW checks, which then ask those at which most drafts are rejected and the next
    token is neither sure nor anybody's guess; 0 tries none. What was drawn for that enters no test."""


class Suite(Record, frozen=True, kw_only=True):
    """A suite as read from TOML. What stands under `[checks.ID]` is read by the check itself."""

    name: str
    title: str
    alpha: Annotated[float, msgspec.Meta(gt=0, lt=0.5)] = 1e-3
    """Error budget of the suite: the probability that a healthy engine is called a violator by any check."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8
    """Requests in flight at once."""
    world: str | None = None
    """What the embedded decoder decodes, unless another is named or a fault is at home elsewhere."""
    background: Background | None = None
    """Traffic for the checks that look at the subject beside it too; none unless declared."""
    prompts: PromptSettings = PromptSettings()
    checks: dict[str, dict[str, Any]]
    """Settings by check id, in the order they run."""


class CheckSettings(Record, frozen=True, kw_only=True):
    """Settings that every check has; each check adds its own by inheritance."""

    required: bool = False
    """The audit passes only if this check conforms."""


class SequentialSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of a check that may stop early."""

    fixed_n: bool = False
    """Collect the whole sample and test it once, with all of the error budget, instead of betting as it comes in."""
    slack: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.01
    """Natural logarithms by which a scored probability may be off without any fault; nothing is bet on less, and on
    nothing within what LAW1 and LAW3 measure, where the reference scores one context more than once. An exact law has
    no slack."""
