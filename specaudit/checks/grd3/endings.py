"""How one completion ended beside the plain one that was asked for the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from specaudit.model.completion import Completion, Response
from specaudit.model.request import Request, Token


class Ending(StrEnum):
    """What a comparison shows."""

    EQUAL = "equal"
    WRONG = "wrong"
    """It contradicts what was asked, or ends otherwise although every token is the plain one's: no noise does that."""
    ELSEWHERE = "elsewhere"
    """It ends where the plain one does not, at a token that is not shown: a near tie with EOS can do that."""
    APART = "apart"
    """It parts from the plain one before either ends: that is GRD1's affair, and its end tells nothing."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One request's ending."""

    ending: Ending
    why: str = ""
    """The end of a sentence that begins with the subject."""


def compare(request: Request, ours: Response, plain: Response, eos: Token | None) -> Compared:
    """Compare how two answers to the same request end.

    Args:
        request: What was asked of both.
        ours: The subject's answer, with a choice.
        plain: The reference's.
        eos: The token that ends completions, where it is shown; None where it is not known.
    """
    mine, theirs = ours.completions[0], plain.completions[0]
    emitted, expected = mine.tokens or (), theirs.tokens or ()
    if wrong := contradicts(request, mine, ours.completion_tokens, eos):
        return Compared(ending=Ending.WRONG, why=wrong)
    common = min(len(emitted), len(expected))
    if emitted[:common] != expected[:common]:
        return Compared(ending=Ending.APART)
    if len(emitted) != len(expected):
        why = f"ends after {len(emitted)} tokens where plain decoding, with the same tokens, ends after {len(expected)}"
        heeds_eos = not request.ignore_eos and eos is None
        return Compared(ending=Ending.ELSEWHERE if heeds_eos else Ending.WRONG, why=why)
    for what, one, other in (
        ("finish reason", mine.finish_reason, theirs.finish_reason),
        ("text", mine.text, theirs.text),
        ("number of billed tokens", ours.completion_tokens, plain.completion_tokens),
    ):
        if None not in (one, other) and one != other:
            return Compared(ending=Ending.WRONG, why=f"has the {what} {one!r} where plain decoding has {other!r}")
    return Compared(ending=Ending.EQUAL)


def contradicts(request: Request, completion: Completion, billed: int | None, eos: Token | None) -> str:
    """Say how a completion contradicts its own request, the end of a sentence; nothing where it does not."""
    tokens, stopped = completion.tokens or (), completion.finish_reason == "stop"
    for verb, count in (("has", len(tokens)), ("is billed", billed or 0)):
        if count > request.max_tokens:
            return f"{verb} {count} tokens where at most {request.max_tokens} were asked for"
    if stopped and len(tokens) < request.min_tokens:
        return f"stops after {len(tokens)} tokens where at least {request.min_tokens} were asked for"
    if completion.finish_reason == "length" and len(tokens) < request.max_tokens and eos is not None:
        return f"says that its cap of {request.max_tokens} ended it after {len(tokens)} tokens"
    ends = {*request.stop_token_ids, *([eos] if eos is not None and not request.ignore_eos else [])}
    place = next((at for at, token in enumerate(tokens) if token in ends and at >= request.min_tokens), None)
    if place is not None and place < len(tokens) - 1:
        return f"goes on for {len(tokens) - 1 - place} tokens behind the stop token {tokens[place]!r}"
    return ""


def shown_eos(plain: Iterable[Completion]) -> Token | None:
    """Return the token that ends plain completions which stopped by themselves, if it is shown and ends all of them."""
    rows: Sequence[Completion] = list(plain)
    last = {row.tokens[-1] for row in rows if row.finish_reason == "stop" and row.tokens}
    if len(last) != 1:
        return None
    (eos,) = last
    elsewhere = any(eos in (row.tokens or ())[:-1] for row in rows)
    return None if elsewhere else eos


def ended_as_asked(request: Request, completion: Completion) -> bool:
    """True if the plain completion shows that the request's stop was heeded."""
    if request.min_tokens:
        return len(completion.tokens or ()) >= request.min_tokens
    return completion.finish_reason == "stop" or len(completion.tokens or ()) < request.max_tokens
