"""When the pieces of an answer came."""

import time
from collections.abc import AsyncIterator

import httpx
import msgspec

from specaudit.engines.sse import payloads

_TEXTS = ("text", "content", "reasoning_content", "reasoning", "token_ids", "tokens")
"""Fields of a stream's event that hold something generated."""


class Arrivals(httpx.AsyncByteStream):
    """Notes when each piece of a body comes; made when the request is sent."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._body = bytearray()
        self._pieces: list[tuple[float, int]] = []
        self._stream: httpx.AsyncByteStream | None = None

    def watched(self, stream: httpx.AsyncByteStream) -> "Arrivals":
        """Read a stream through this one."""
        self._stream = stream
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self._stream is not None
        async for piece in self._stream:
            self._body += piece
            self._pieces.append((time.perf_counter() - self._began, len(self._body)))
            yield piece

    async def aclose(self) -> None:
        """Close the stream that is read."""
        if self._stream is not None:
            await self._stream.aclose()

    def first(self) -> float | None:
        """Return the seconds until an event said something; role and usage alone say nothing."""
        for seconds, length in self._pieces:
            events = payloads(self._body[:length].decode(errors="ignore"))
            if any(_says_something(event) for event in events):
                return round(seconds, 6)
        return None


def _says_something(event: str) -> bool:
    try:
        decoded = msgspec.json.decode(event)
    except msgspec.DecodeError:  # cut off within an event, or its end mark
        return False
    told = decoded if isinstance(decoded, dict) else {}
    choices = [one for one in told.get("choices") or (told,) if isinstance(one, dict)]
    parts = [one["delta"] if isinstance(one.get("delta"), dict) else one for one in choices]
    return any(part.get(name) for part in parts for name in _TEXTS)
