"""A vendor's claim: what was said, word for word, and under which conditions, as far as they were said."""

from typing import Annotated, Literal

import msgspec

from specaudit.model.record import FORM_VERSION, Record

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Length = Annotated[float, msgspec.Meta(ge=1)]

# Arrays of two, not `tuple[X, X]`: beside a number with bounds, msgspec 0.23 reads the length of those from memory that
# is not its own.
_Two = msgspec.Meta(min_length=2, max_length=2)
PositiveRange = Annotated[tuple[Positive, ...], _Two]
ShareRange = Annotated[tuple[Share, ...], _Two]
LengthRange = Annotated[tuple[Length, ...], _Two]

Condition = Literal[
    "model",
    "precision",
    "cache_precision",
    "hardware",
    "devices",
    "drafter",
    "draft_tokens",
    "batch",
    "context",
    "temperature",
    "data_set",
    "baseline",
]
"""What figures of speed depend on."""


class Numbers(Record, frozen=True, kw_only=True):
    """The figures of a claim; None where it gives none. A range is written as [low, high]."""

    speed_up: Positive | PositiveRange | None = None
    """Times as fast as the baseline that the conditions name."""
    tokens_per_second: Positive | PositiveRange | None = None
    """With speculation."""
    baseline_tokens_per_second: Positive | None = None
    """Without it."""
    per: Literal["user", "batch"] | None = None
    """Whether tokens are those of one user or of all sequences together; by default of all where a batch is stated."""
    acceptance_rate: Share | ShareRange | None = None
    """Accepted drafts per draft."""
    acceptance_length: Length | LengthRange | None = None
    """Tokens per step of the verifier, its own token counted."""
    lossless: bool | None = None
    """Whether the output is said to be distributed as the target's."""


class Conditions(Record, frozen=True, kw_only=True):
    """What was said of how the figures came about; None where nothing was said."""

    model: str | None = None
    """A name in the model table."""
    precision: str | None = None
    """Of the weights: bf16, fp8, nvfp4, int4 and so on."""
    cache_precision: str | None = None
    """Of keys and values."""
    hardware: str | None = None
    """A name in the hardware table."""
    devices: Count | None = None
    drafter: str | None = None
    draft_tokens: Count | None = None
    """Drafts per step."""
    batch: Count | None = None
    """Sequences decoded at once; the largest of them, where a range was stated."""
    context: Count | None = None
    """Tokens of prompt and completion, as they stand in the cache."""
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    data_set: str | None = None
    baseline: str | None = None
    """What the speed-up is over: which engine, and how it was tuned."""


class Claim(Record, frozen=True, kw_only=True):
    """A claim as read from TOML."""

    version: int = FORM_VERSION
    title: str = ""
    """Who claims what, in a line."""
    wording: Annotated[str, msgspec.Meta(min_length=1)]
    """Word for word, unless it is a paraphrase."""
    paraphrased: bool = False
    """The wording is ours, since the source could not be read."""
    source: Annotated[str, msgspec.Meta(min_length=1)]
    """Where it was said: an address, a title."""
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
    """When: a year, a month or a day, ISO 8601."""
    numbers: Numbers = Numbers()
    conditions: Conditions = Conditions()
    unstated: tuple[Condition, ...] = ()
    """Conditions that the source leaves out, as somebody who searched it says."""
    remarks: tuple[str, ...] = ()
    """What else the source says, or what is known of it from elsewhere."""


def least(figure: float | tuple[float, ...] | None) -> float | None:
    """Return a figure, or the lower end of its range: what the claim promises at least."""
    return figure[0] if isinstance(figure, tuple) else figure
