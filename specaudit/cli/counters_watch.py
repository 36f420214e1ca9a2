"""Reading metrics pages again and again."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from specaudit.counters.snapshots import Snapshot, no_snapshot, snapshot
from specaudit.engines.addresses import public_address
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.metrics import MetricsAddress
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.plan import told_apart
from specaudit.model.record import to_json

_LONGEST_SECONDS = 30.0
"""A page that takes longer is given up, and leaves a gap."""


class Watch:
    """Reads the pages at some addresses, all at the same moments.

    Args:
        urls: The addresses.
        every: Seconds from one reading to the next; one that is overtaken is left out.
        duration: Seconds after which the watch ends; None goes on until it is interrupted.
        headers: Sent with every request.
        ca_file: Certificates to trust.
        record: File to which the pages are appended, a line of JSON each.

    Raises:
        CouldNotTest: An address is not one of HTTP.
        UsageError: A header or the certificates cannot be used.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        every: float,
        duration: float | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        record: str | None = None,
    ) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._sources = told_apart([public_address(url) for url in self._urls])
        self._every = every
        self._duration = duration
        self._access = Access(
            headers=headers or {},
            ca_file=Path(ca_file) if ca_file else None,
            timeout=_LONGEST_SECONDS,
            connections=1,
        )
        self._record = record

    def run(self, take: Callable[[Snapshot], None]) -> bool:
        """Hand on every page as it comes, and return whether the watch was interrupted.

        Raises:
            CouldNotTest: None of the addresses answers when the watch begins.
            UsageError: The recording cannot be written.
        """
        try:
            asyncio.run(self._watch(take))
        except KeyboardInterrupt:
            return True
        return False

    async def _watch(self, take: Callable[[Snapshot], None]) -> None:
        pages = [_metrics(url, self._access) for url in self._urls]
        recording = _opened(self._record) if self._record else None
        begun, answered = time.monotonic(), False
        try:
            while True:
                found = await asyncio.gather(*map(_read, self._sources, pages))
                if not answered:
                    _refuse_silence(found)
                answered = True
                for one in found:
                    if recording is not None:
                        recording.write(to_json(one) + b"\n")
                    take(one)
                if recording is not None:
                    recording.flush()
                passed = time.monotonic() - begun
                rest = self._every - passed % self._every
                if self._duration is not None and passed + rest > self._duration:
                    return
                await asyncio.sleep(rest)
        finally:
            if recording is not None:
                recording.close()
            for page in pages:
                await page.close()


def _metrics(url: str, access: Access) -> MetricsAddress:
    try:
        return MetricsAddress(url, access)
    except CouldNotTest as error:
        raise CouldNotTest(error.message, hint="specaudit counters --watch http://HOST:PORT/metrics") from error


async def _read(source: str, address: MetricsAddress) -> Snapshot:
    try:
        page = await address.scrape()
    except EngineFailure as error:
        return no_snapshot(error.failure.message.rstrip("."), source=source)
    return snapshot(page.text, source=source, content_type=page.content_type, headers=page.headers)


def _refuse_silence(found: Sequence[Snapshot]) -> None:
    """A server may go away for a while, but one that was never there is a wrong address."""
    if all(one.failure for one in found):
        raise CouldNotTest(f"{found[0].failure}.", hint="Name the page itself, such as http://HOST:PORT/metrics")


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("ab")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}).", hint="specaudit counters --help") from error
