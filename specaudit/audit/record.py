"""`evidence.jsonl`: append-only, one flushed line per record, each with the SHA-256 of the line before."""

import contextlib
import errno
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from specaudit.model.entries import (
    NO_PREVIOUS,
    AnyEntry,
    AttemptEntry,
    PlanEntry,
    SealEntry,
    SnapshotEntry,
    StageEntry,
    StopEntry,
    entry_decoder,
)
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.record import FORM_VERSION, digest, to_json

FILE_NAME = "evidence.jsonl"


class Recorder:
    """Writes evidence and keeps what it wrote."""

    def __init__(self, folder: Path) -> None:
        """Create the folder and an empty evidence file.

        Raises:
            UsageError: the folder holds evidence already, or cannot be written.
        """
        self.path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("xb", buffering=0)  # a line is in the file as soon as it is written
        except OSError as error:
            if folder.is_dir() and isinstance(error, FileExistsError):
                message = f"{folder} already holds evidence; it is never written over."
            elif folder.exists() and not folder.is_dir():
                message = f"{folder} is a file; evidence needs a folder."
            else:
                message = f"{folder} cannot be written: {error.strerror}."
            raise UsageError(message, hint="specaudit run --out ANOTHER_FOLDER") from error
        self._length = 0
        self._previous = NO_PREVIOUS
        self.entries: list[AnyEntry] = []

    def append(self, entry: AnyEntry) -> None:
        """Chain an entry to the one before and write it.

        Raises:
            CouldNotTest: the disk does not take it; what was written before stands.
        """
        chained = msgspec.structs.replace(entry, previous=self._previous)
        line = to_json(chained)
        own = hashlib.sha256(line).hexdigest()
        self._write(line + b"\n")
        self._previous = own
        self.entries.append(chained)

    def _write(self, line: bytes) -> None:
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with contextlib.suppress(OSError):  # half a line must not stay: another may follow
                self._file.seek(self._length)
                self._file.truncate()
            raise CouldNotTest(
                f"{self.path} could not be written ({error.strerror}); what stands there is kept.",
                hint=f"specaudit analyze {self.path.parent}",
            ) from error
        self._length += len(line)

    def evidence(self) -> Evidence:
        """Return everything written so far."""
        return Evidence(self.entries, digest=self._previous)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_evidence(folder: Path) -> Evidence:
    """Read a folder's evidence, and check that it is as an audit wrote it.

    Checked are the chain, the digests of plan, stages and pages, the order of the records and the count in the
    seal. A last line without a line feed is what a killed process leaves: it is not counted.

    Raises:
        UsageError: there is no evidence, or it was changed; the message names the line.
    """
    path = folder if folder.is_file() else folder / FILE_NAME
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"There is no evidence at {path} ({error.strerror}).", hint="specaudit run --out FOLDER"
        ) from error
    entries: list[AnyEntry] = []
    slots: dict[str, int] = {}
    previous = NO_PREVIOUS
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            entry = entry_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"Line {number} of {path} is not a record of evidence: {error}.") from error
        if entry.previous != previous:
            raise UsageError(
                f"The chain of {path} is broken at line {number}: it or the line before was changed, added or removed.",
                hint="specaudit verify, on a copy that nobody touched",
            )
        if fault := _fault(entry, entries, slots):
            raise UsageError(f"Line {number} of {path} {fault}.")
        if isinstance(entry, StageEntry):
            slots[entry.stage.name] = len(entry.stage.slots())
        previous = hashlib.sha256(line).hexdigest()
        entries.append(entry)
    if not entries:
        raise UsageError(f"{path} holds no record, so there is nothing to judge.", hint="specaudit run --out FOLDER")
    return Evidence(entries, digest=previous)


def _fault(entry: AnyEntry, before: list[AnyEntry], slots: dict[str, int]) -> str:
    """What is wrong with an entry where it stands; nothing where an audit may have written it there.

    `slots` are the planned requests of each stage so far.
    """
    if isinstance(entry, PlanEntry) == bool(before):
        return "is a second plan" if before else "is not a plan, with which the evidence of an audit begins"
    if before and isinstance(before[-1], StopEntry | SealEntry):
        return "stands behind the record that ended the audit"
    match entry:
        case PlanEntry() if entry.plan.version != FORM_VERSION:
            return f"is of version {entry.plan.version}, and this specaudit reads version {FORM_VERSION}"
        case PlanEntry() if entry.digest != digest(entry.plan):
            return "has not the digest of its plan"
        case StageEntry() if entry.digest != digest(entry.stage) or entry.stage.name in slots:
            return "has not the digest of its stage, or is that stage's second plan"
        case AttemptEntry() if not 0 <= entry.slot < slots.get(entry.stage, 0):
            return "answers a request that was not planned"
        case SnapshotEntry() if entry.sha256 != hashlib.sha256(entry.page.encode()).hexdigest():
            return "has not the digest of its page"
        case SealEntry() if entry.records != len(before):
            return f"seals {entry.records} records, and {len(before)} stand before it"
        case _:
            return ""
