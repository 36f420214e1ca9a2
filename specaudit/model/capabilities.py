"""What an engine reveals, found by probing its behaviour."""

from typing import Literal

from specaudit.model.record import Record


class Capabilities(Record, frozen=True, kw_only=True):
    """What can be asked of an engine and what it tells."""

    engine: str
    """Name of the adapter, or of the engine where it gives one."""
    version: str | None = None
    """Of the engine, as it says."""
    model: str | None = None
    tokens: Literal["ids", "texts", "retokenized", "none"] = "none"
    """How single tokens are revealed: as ids, as the text of each, or not at all; `retokenized` ones are not the
    engine's own but those into which its text is divided: by a tokenizer given by the user, or else into characters."""
    token_prompts: bool = False
    """Prompts may be given as token ids."""
    vocabulary_size: int | None = None
    max_choices: int = 1
    """Largest number of choices that a request was seen to return."""
    logprobs: int = 0
    """How many most likely tokens are reported per position."""
    logprobs_mode: Literal["raw", "processed", "unknown"] = "unknown"
    """Reported before or after the sampling filters; found by asking at two temperatures."""
    scores_prompts: bool = False
    """Reports logprobs of a prompt's own tokens, as many and of the same mode as those of generated ones."""
    draft_tokens: int | None = None
    """Drafts per step: 0 is plain decoding, None is not known."""
    sets_draft_tokens: bool = False
    """A request may ask for fewer drafts per step."""
    counters: bool = False
    """Its metrics page carries speculation counters."""
    counts_in_answers: bool = False
    """Its answers say how many tokens were drafted and accepted for them."""
    temperature: Literal["any", "one", "default", "ignored"] = "any"
    """Temperatures that it takes: any; 1 only; none, so that its default is used; or any, but without effect."""
    repeats: Literal["never", "bypassed", "always"] = "never"
    """Whether requests that differ in their seed only get one answer, as from a cache. `bypassed`: not while the
    requests also name different users, which is why they do."""
    reasoning: Literal["none", "shown", "hidden"] = "none"
    """Whether answers have a reasoning segment, and whether it can be read."""
    segments: bool = True
    """It is known of every token whether it belongs to the reasoning segment."""
    prompt_tokens: tuple[int, ...] = ()
    """How many tokens it counts in the prompts with which it was probed; empty where it does not tell."""
    tokenizer: str | None = None
    """SHA-256 of the tokenizer that was given."""
    refused: tuple[str, ...] = ()
    """Optional request fields that it answered with an error, and that are therefore not sent, or sent neutral."""
