"""The segments of a completion: reasoning comes first, then the answer. Each can be audited by itself."""

from typing import Literal

import msgspec

from specaudit.model.completion import Completion
from specaudit.model.request import Token

Segment = Literal["all", "reasoning", "answer"]


def only(completion: Completion, segment: Segment) -> Completion:
    """Return a completion with the tokens and logprobs of one segment; none where it is not known which those are."""
    if segment == "all":
        return completion
    length = 0 if completion.reasoning is None else completion.reasoning_length
    if length is None or completion.tokens is None:
        return msgspec.structs.replace(completion, tokens=None, logprobs=None)
    part = slice(None, length) if segment == "reasoning" else slice(length, None)
    return msgspec.structs.replace(
        completion,
        tokens=completion.tokens[part],
        logprobs=None if completion.logprobs is None else completion.logprobs[part],
    )


def begun(completion: Completion) -> bool:
    """False where the cap came before anything of a segment, as when reasoning used it up: nothing is known of it."""
    return bool(completion.tokens or completion.text) or completion.finish_reason != "length"


def ended(completion: Completion, max_tokens: int, *, exact: bool) -> tuple[Token, ...] | None:
    """Return the tokens of a completion that came to its end, or None where what would have followed is unknown.

    Args:
        completion: what was answered.
        max_tokens: the cap that was asked for.
        exact: the tokens are all that were generated, so that the cap must fit. Where they are a segment, or those
            of another tokenizer, their number says nothing; what is beyond the cap is cut off.
    """
    tokens, finish = completion.tokens, completion.finish_reason
    if tokens is None:
        return None
    if exact:
        fits = len(tokens) == max_tokens or (finish == "stop" and len(tokens) <= max_tokens)
        return tokens if fits else None
    return tokens[:max_tokens] if finish in ("length", "stop") else None
