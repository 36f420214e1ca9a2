"""What an engine reveals, found by probing its behaviour."""

from typing import Literal

from specaudit.model.record import Record


class Capabilities(Record, frozen=True, kw_only=True):
    """What can be asked of an engine and what it tells."""

    engine: str
    """Name of the adapter, or of the engine where it gives one."""
    model: str | None = None
    tokens: Literal["ids", "texts", "none"] = "none"
    """How single tokens are revealed: as ids, as the text of each, or not at all."""
    token_prompts: bool = False
    """Prompts may be given as token ids."""
    vocabulary_size: int | None = None
    max_choices: int = 1
    """Largest number of choices that a request was seen to return."""
    logprobs: int = 0
    """How many most likely tokens are reported per position."""
    logprobs_mode: Literal["raw", "processed", "unknown"] = "unknown"
    """Reported before or after the sampling filters; found by asking at two temperatures."""
    draft_tokens: int | None = None
    """Drafts per step: 0 is plain decoding, None is not known."""
    counters: bool = False
    """Its metrics page carries speculation counters."""
    refused: tuple[str, ...] = ()
    """Optional request fields that it answered with an error, and that are therefore not sent."""
