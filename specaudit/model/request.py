"""What is asked of an engine."""

from typing import Annotated

import msgspec

from specaudit.model.record import Record

Token = int | str
"""A token's id; the text of a token where an engine does not reveal ids."""

Prompt = tuple[int, ...] | str


class Sampling(Record, frozen=True, kw_only=True):
    """How the next token is drawn. Every field is always sent: no server default ever decides.

    The order of the filters is temperature, top-k, top-p.
    """

    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0
    """0 asks for greedy decoding."""
    top_k: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    """Keep the smallest set of most likely tokens whose mass reaches top_p; 1 keeps all."""


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
    ignore_eos: bool = True
    """Go on past the end-of-sequence token, so that completions have one length."""
    logprobs: int | None = None
    """How many of the most likely tokens to report at each position; None reports none."""
