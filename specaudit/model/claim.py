"""A vendor's claim: what was said, word for word, and under which conditions, as far as they were said."""

from typing import Annotated

import msgspec

from specaudit.model.record import FORM_VERSION, Record

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Numbers(Record, frozen=True, kw_only=True):
    """The figures of a claim; None where it gives none."""

    speed_up: Positive | None = None
    """Times as fast as the baseline that the conditions name."""
    tokens_per_second: Positive | None = None
    """With speculation: of one user unless the batch says otherwise."""
    baseline_tokens_per_second: Positive | None = None
    """Without it."""
    acceptance_rate: Share | None = None
    """Accepted drafts per draft."""
    acceptance_length: Annotated[float, msgspec.Meta(ge=1)] | None = None
    """Tokens per step of the verifier, its own token counted."""
    lossless: bool | None = None
    """Whether the output is said to be distributed as the target's."""


class Conditions(Record, frozen=True, kw_only=True):
    """What was said of how the figures came about; None where nothing was said."""

    model: str | None = None
    precision: str | None = None
    hardware: str | None = None
    devices: Count | None = None
    drafter: str | None = None
    draft_tokens: Count | None = None
    """Drafts per step."""
    batch: Count | None = None
    """Sequences decoded at once."""
    context: Count | None = None
    """Tokens of prompt and completion, as they stand in the cache."""
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    data_set: str | None = None
    baseline: str | None = None
    """What the speed-up is over: which engine, and how it was tuned."""


class Claim(Record, frozen=True, kw_only=True):
    """A claim as read from TOML."""

    version: int = FORM_VERSION
    wording: Annotated[str, msgspec.Meta(min_length=1)]
    """Word for word."""
    source: Annotated[str, msgspec.Meta(min_length=1)]
    """Where it was said: an address, a title."""
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
    """When: a year, a month or a day, ISO 8601."""
    numbers: Numbers = Numbers()
    conditions: Conditions = Conditions()
