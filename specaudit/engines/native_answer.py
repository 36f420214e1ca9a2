"""What readers of native answers share: strict conversion, likely tokens in their order, counts over choices."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from specaudit.model.completion import TokenLogprobs
from specaudit.model.request import Token

T = TypeVar("T")

Likely = tuple[Token, float | None]
"""A token and its logprob, None where none is told."""


def converted(answer: Any, form: type[T]) -> T:
    """Return decoded JSON as a form.

    Raises:
        ValueError: it is not of the form; the message says where.
    """
    try:
        return msgspec.convert(answer, form)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def position(token: Token, logprob: float | None, likely: Iterable[Likely]) -> TokenLogprobs:
    """Return what is reported about one token, the likely tokens at its place most likely first."""
    told = [(one, value) for one, value in likely if value is not None]
    return TokenLogprobs(token=token, logprob=logprob, top=tuple(sorted(told, key=lambda pair: -pair[1])))


def positions(scored: Sequence[Likely], tops: Sequence[Iterable[Likely] | None] | None) -> tuple[TokenLogprobs, ...]:
    """Return what is reported about tokens `[T]`, from two lists beside each other.

    Args:
        scored: The tokens.
        tops: The likely tokens at their places; None where none are told.

    Raises:
        ValueError: the lists differ in length.
    """
    beside = tops or [None] * len(scored)
    if len(beside) != len(scored):
        raise ValueError("the lists of its logprobs differ in length")
    return tuple(position(token, logprob, top or ()) for (token, logprob), top in zip(scored, beside, strict=True))


def total(counts: Sequence[int | None]) -> int | None:
    """Return the sum over choices; None where one of them does not tell its count."""
    told = [count for count in counts if count is not None]
    return sum(told) if len(told) == len(counts) else None
