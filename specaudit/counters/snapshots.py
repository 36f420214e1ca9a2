"""Snapshots: metrics pages as they came, and the files in which they are kept.

A file is one page, packed by gzip or not; or a recording, a line of JSON for each page; or the evidence of an audit,
whose lines hold pages among other things.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from specaudit.counters.body import decode
from specaudit.counters.page import PageError
from specaudit.model.record import Record


class Snapshot(Record, frozen=True, kw_only=True):
    """One page, raw."""

    source: str = ""
    """Whose page it is: an address, or the name of a recording; empty for pages given one by one."""
    taken: str = ""
    """UTC time by the client's clock, ISO 8601; empty where it is not known."""
    page: str = ""
    content_type: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """HTTP headers of the answer, names in lower case."""
    sha256: str = ""
    """Of the page's UTF-8 bytes."""
    failure: str | None = None
    """Why there is no page, in a sentence."""

    @property
    def time(self) -> datetime | None:
        """When it was taken, None where that is not known."""
        try:
            found = datetime.fromisoformat(self.taken)
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)


_NAMES = Snapshot.__struct_fields__
"""What is read of a line; evidence says more."""


def snapshot(
    page: str, *, source: str = "", content_type: str = "", headers: Mapping[str, str] | None = None
) -> Snapshot:
    """Return a page that was just read."""
    return Snapshot(
        source=source,
        taken=datetime.now(UTC).isoformat(timespec="milliseconds"),
        page=page,
        content_type=content_type,
        headers=dict(headers or {}),
        sha256=_sha256(page),
    )


def no_snapshot(failure: str, *, source: str = "") -> Snapshot:
    """Return what stands for a page that could not be read."""
    return Snapshot(source=source, taken=datetime.now(UTC).isoformat(timespec="milliseconds"), failure=failure)


def snapshots_in(body: bytes, source: str = "") -> list[Snapshot]:
    """Return the pages in a file, in its order. What cannot be read is told in place of a page.

    Args:
        body: The file's bytes.
        source: Whose pages these are, where the file does not say.
    """
    try:
        text = decode(body)
    except PageError as error:
        return [Snapshot(source=source, failure=str(error))]
    lines = text.split("\n")
    if not _is_recorded(lines[0]):
        return [Snapshot(source=source, page=text, sha256=_sha256(text))]
    found = (_recorded(line, number, source) for number, line in enumerate(lines, start=1) if line.strip())
    return [one for one in found if one is not None]


def _is_recorded(line: str) -> bool:
    fields = _fields(line)
    return fields is not None and not fields.keys().isdisjoint(("page", "failure", "kind"))


def _recorded(line: str, number: int, source: str) -> Snapshot | None:
    fields = _fields(line)
    if fields is None:
        return Snapshot(source=source, failure=f"line {number:,} of the recording is no JSON object: it is cut off")
    if "kind" in fields and fields["kind"] != "snapshot":
        return None
    if fields.get("quiet") is False and fields.get("failure") is None:
        fields = {**fields, "failure": "the counters were still moving when the page was read"}
    try:
        found = msgspec.convert({name: fields[name] for name in _NAMES if name in fields}, Snapshot)
    except (msgspec.ValidationError, RecursionError) as error:
        return Snapshot(source=source, failure=f"line {number:,} of the recording is no snapshot ({error})")
    if found.failure is None and _sha256(found.page) != found.sha256:
        changed = f"the page in line {number:,} is not the one that was recorded: its SHA-256 is another"
        return Snapshot(source=found.source or source, taken=found.taken, failure=changed)
    return found if found.source else msgspec.structs.replace(found, source=source)


def _fields(line: str) -> dict[str, Any] | None:
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _sha256(page: str) -> str:
    return hashlib.sha256(page.encode(errors="surrogatepass")).hexdigest()
