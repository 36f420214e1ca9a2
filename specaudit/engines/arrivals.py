"""Reading an answer as it comes: no further than an answer can go, and with the moment of a stream's first word."""

import time

import aiohttp
import msgspec

from specaudit.engines.sse import Events

LARGEST = 100_000_000
"""Bytes of an answer, unpacked, at which it is given up: a few bytes may unpack to more than there is memory."""

_TEXTS = ("text", "content", "reasoning_content", "reasoning", "token_ids", "tokens")
"""Fields of a stream's event that hold something generated."""


class Endless(aiohttp.ClientError):
    """An answer that is larger than any honest one."""


async def read_as_it_comes(
    content: aiohttp.StreamReader, *, streamed: bool, began: float
) -> tuple[bytes, float | None]:
    """Return a body, and the seconds until an event of it said something.

    Role and usage alone say nothing.

    Args:
        content: the body.
        streamed: it is a stream of events.
        began: when the request was sent, by `time.perf_counter`.

    Raises:
        aiohttp.ClientError: it broke off, or does not end.
    """
    pieces: list[bytes] = []
    length, events, first = 0, Events() if streamed else None, None
    async for piece in content.iter_any():
        pieces.append(piece)
        length += len(piece)
        if length > LARGEST:
            raise Endless
        if events is not None and first is None and any(map(_says_something, events.take(piece))):
            first = round(time.perf_counter() - began, 6)
    return b"".join(pieces), first


def _says_something(event: str) -> bool:
    try:
        decoded = msgspec.json.decode(event)
    except (msgspec.DecodeError, ValueError, RecursionError):  # the mark of the end, or nothing that will be read
        return False
    told = decoded if isinstance(decoded, dict) else {}
    listed = told.get("choices")
    choices = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else [told]
    parts = [one["delta"] if isinstance(one.get("delta"), dict) else one for one in choices]
    return any(part.get(name) for part in parts for name in _TEXTS)
