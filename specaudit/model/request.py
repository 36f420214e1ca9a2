"""What is asked of an engine."""

from typing import Annotated

import msgspec

from specaudit.model.record import Record

Token = int | str
"""A token's id; the text of a token where an engine does not reveal ids."""

Prompt = tuple[int, ...] | str


class Sampling(Record, frozen=True, kw_only=True):
    """How the next token is drawn; every default is neutral.

    Every field is sent wherever the server takes it, so that no server default ever decides. In which order the
    filters are applied is the engine's own affair: see `specaudit.laws.orders`.
    """

    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0
    """0 asks for greedy decoding."""
    top_k: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    """Keep the smallest set of most likely tokens whose mass reaches top_p; 1 keeps all."""
    min_p: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Keep tokens at least so likely as this share of the most likely one; 0 keeps all."""
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0, le=100)] = 1.0
    """Divides positive logits, multiplies negative ones, of tokens in prompt or completion; 1 is neutral."""
    presence_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] = 0.0
    """Taken once from the logit of every token in the completion so far."""
    frequency_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] = 0.0
    """Taken from a token's logit for every time that it stands in the completion so far."""
    logit_bias: tuple[tuple[int, Annotated[float, msgspec.Meta(ge=-100, le=100)]], ...] = ()
    """(token id, what is added to its logit)."""
    bad_words: tuple[tuple[Token, ...], ...] = ()
    """Sequences of tokens that must not be completed; servers take them as text only."""
    allowed_token_ids: tuple[int, ...] | None = None
    """The only tokens that may be drawn; None allows all."""
    grammar: str | None = None
    """Regular expression that the whole text must match in the end; None allows any text."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the fields that are not neutral."""
        neutral = type(self)()
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) != getattr(neutral, name))


GREEDY = Sampling(temperature=0.0)


class Request(Record, frozen=True, kw_only=True):
    """One request: a prompt, how to sample, and when to stop."""

    prompt: Prompt
    """Token ids, or text that the engine tokenizes."""
    sampling: Sampling
    seed: int
    """Choice i of the request is drawn with seed + i, as real engines do: seeds are spaced by at least n."""
    n: int = 1
    """Number of completions asked for (choices)."""
    max_tokens: int = 16
    stop_token_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    """Texts that end a completion; whether they are part of its text is the engine's own affair."""
    min_tokens: int = 0
    """Tokens before any stop."""
    draft_tokens: int | None = None
    """Drafts per step at most, where an engine lets a request choose; None leaves it to the engine."""
    ignore_eos: bool = True
    """Go on past the end-of-sequence token, so that completions have one length."""
    logprobs: int | None = None
    """How many of the most likely tokens to report at each position; None reports none."""
    score_from: int | None = None
    """Report logprobs of the prompt's own tokens too, from this one on (teacher forcing); None reports none."""
