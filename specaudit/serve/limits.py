"""A limit on requests a minute, as hosted endpoints have one."""

from collections.abc import Callable
from math import ceil
from time import monotonic

_BURST_SECONDS = 2.0
"""What may be asked at once is what the limit grants in so much time."""


class RateLimit:
    """A bucket that fills by `per_minute` requests a minute.

    Args:
        per_minute: requests a minute.
        clock: seconds, never going back.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(1.0, self._per_second * _BURST_SECONDS)
        self._clock = clock
        self._left = self._most
        self._filled = clock()

    def retry_after(self) -> int | None:
        """Take one request from the bucket, or return the whole seconds after which there will be one."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._filled) * self._per_second)
        self._filled = now
        if self._left < 1:
            return max(1, ceil((1 - self._left) / self._per_second))
        self._left -= 1
        return None
