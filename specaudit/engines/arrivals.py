"""When a stream says its first word."""

import time

import aiohttp
import msgspec

from specaudit.engines.sse import payloads

_TEXTS = ("text", "content", "reasoning_content", "reasoning", "token_ids", "tokens")
"""Fields of a stream's event that hold something generated."""


async def read_as_it_comes(stream: aiohttp.StreamReader, began: float) -> tuple[bytes, float | None]:
    """Return the body of a stream, and the seconds until an event of it said something.

    Role and usage alone say nothing.

    Args:
        stream: the body.
        began: when the request was sent, by `time.perf_counter`.

    Raises:
        aiohttp.ClientError: it broke off.
    """
    body, first = bytearray(), None
    async for piece in stream.iter_any():
        body += piece
        if first is None and any(map(_says_something, payloads(body.decode(errors="ignore")))):
            first = round(time.perf_counter() - began, 6)
    return bytes(body), first


def _says_something(event: str) -> bool:
    try:
        decoded = msgspec.json.decode(event)
    except msgspec.DecodeError:  # cut off within an event, or its end mark
        return False
    told = decoded if isinstance(decoded, dict) else {}
    choices = [one for one in told.get("choices") or (told,) if isinstance(one, dict)]
    parts = [one["delta"] if isinstance(one.get("delta"), dict) else one for one in choices]
    return any(part.get(name) for part in parts for name in _TEXTS)
