"""What an engine answers."""

from typing import Any

from specaudit.model.record import Record
from specaudit.model.request import Token


class TokenLogprobs(Record, frozen=True, kw_only=True):
    """What was reported about one position: the emitted token and the most likely ones.

    Natural logarithms of probabilities, before or after the sampling filters as the engine's Capabilities say.
    """

    token: Token
    logprob: float | None
    top: tuple[tuple[Token, float], ...] = ()
    """(token, logprob) of the most likely tokens, most likely first."""


class Timings(Record, frozen=True, kw_only=True):
    """Seconds by the engine's own clock."""

    prefill: float | None = None
    decode: float | None = None


class Steps(Record, frozen=True, kw_only=True):
    """How a completion was decoded, step by step, as an engine in process knows it."""

    drafted: tuple[int, ...]
    """Drafts of each step; 0 where it decoded plainly."""
    accepted: tuple[int, ...]
    """Drafts that were accepted and emitted."""
    emitted: tuple[int, ...]
    """Tokens; as many as were accepted where a stop or the cap cut the step, one more elsewhere."""
    ragged: int
    """Steps in a batch whose rows had different numbers of drafts."""
    mixed: int
    """Steps in a batch whose rows had different sampling parameters or stop rules."""


class Completion(Record, frozen=True, kw_only=True):
    """One choice of a response."""

    tokens: tuple[Token, ...] | None
    """Emitted tokens in order; None where the engine reveals neither ids nor the text of single tokens."""
    text: str | None = None
    finish_reason: str | None = None
    """`length` (cap) or `stop` (end of sequence, stop token); other words are kept as the engine gave them."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    reasoning: str | None = None
    """Text of the reasoning segment, which comes before `text`; None where there is none, or none is shown."""
    reasoning_length: int | None = None
    """How many of `tokens`, from the first, belong to the reasoning segment; None where that is not known."""
    timings: Timings | None = None
    steps: Steps | None = None


class Response(Record, frozen=True, kw_only=True):
    """The answer to one Request: its choices in order of their index."""

    completions: tuple[Completion, ...]
    prompt_token_ids: tuple[int, ...] | None = None
    """How the engine tokenized the prompt, where it tells."""
    scores: tuple[TokenLogprobs, ...] | None = None
    """What was reported about the prompt's tokens, from the one that the request names (`score_from`)."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Generated tokens over all choices, as billed."""
    reasoning_tokens: int | None = None
    """Those of them that belong to reasoning, shown or hidden, as billed."""
    cached_tokens: int | None = None
    """Prompt tokens that were not computed anew, as billed."""
    speculation: dict[str, Any] | None = None
    """What the answer says of the speculation behind it, in the engine's own words, as `specaudit.counters.answers`
    reads them: `metrics` (vLLM), `meta_info` (SGLang) or `timings` (llama.cpp); `emitted_per_step` is what an adapter
    in process saw."""
    first_token: float | None = None
    """Seconds from sending the request to the first piece of the answer that says something, where it is a stream."""
    cache: str | None = None
    """What a cache in front of the engine says in the answer's headers, e.g. `x-cache: HIT`."""
    served_by: str | None = None
    """What the answer says answered it: the model, if it is not the one that was asked for, and the version of what
    runs it (`system_fingerprint`)."""

    @property
    def received(self) -> int:
        """Tokens over all choices, as far as they are told."""
        return sum(len(completion.tokens or ()) for completion in self.completions)
