"""`evidence.jsonl`: append-only, one flushed line per record, each with the SHA-256 of the line before.

Whoever collects holds an advisory lock on the file (`flock`), so that a second process is refused. On Windows,
where there is no `fcntl`, nothing is locked, and that one process only collects into a folder is left to the user.
"""

import contextlib
import errno
import hashlib
import os
import shlex
import sys
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

import msgspec

from specaudit.model.entries import (
    NO_PREVIOUS,
    AnyEntry,
    AttemptEntry,
    PlanEntry,
    ResumeEntry,
    SealEntry,
    SnapshotEntry,
    StageEntry,
    StopEntry,
    entry_decoder,
)
from specaudit.model.errors import CouldNotTest, SpecauditError, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.record import FORM_VERSION, refuse_newer, to_json, version_of

if sys.platform != "win32":
    import fcntl

FILE_NAME = "evidence.jsonl"


class Recording(Protocol):
    """Takes evidence as it comes."""

    def append(self, entry: AnyEntry) -> None:
        """Take an entry."""
        ...

    def evidence(self) -> Evidence:
        """Return everything so far."""
        ...


class InMemory:
    """Keeps evidence that is recorded elsewhere."""

    def __init__(self, entries: Iterable[AnyEntry] = ()) -> None:
        self.entries = list(entries)

    def append(self, entry: AnyEntry) -> None:
        """Keep an entry."""
        self.entries.append(entry)

    def evidence(self) -> Evidence:
        """Return everything kept so far."""
        return Evidence(self.entries)


class Recorder:
    """Writes evidence and keeps what it wrote."""

    def __init__(self, folder: Path) -> None:
        """Create the folder and an empty evidence file.

        Raises:
            UsageError: the folder holds evidence already, or cannot be written.
        """
        self.path = folder / FILE_NAME
        hint = "specaudit run --out ANOTHER_FOLDER"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("xb", buffering=0)  # a line is in the file as soon as it is written
        except OSError as error:
            if folder.is_dir() and isinstance(error, FileExistsError):
                message = f"{folder} already holds evidence; it is never written over."
                hint += f", or go on with it: specaudit run --resume {shlex.quote(str(folder))}"
            elif folder.exists() and not folder.is_dir():
                message = f"{folder} is a file; evidence needs a folder."
            else:
                message = f"{folder} cannot be written: {error.strerror}."
            raise UsageError(message, hint=hint) from error
        _lock(self._file, folder)
        self._go_on_behind(_Read(entries=[], digest=NO_PREVIOUS, length=0))

    @classmethod
    def reopened(cls, folder: Path) -> Self:
        """Return a recorder that goes on at the end of a folder's evidence; half a last line is cut off.

        Raises:
            UsageError: there is no evidence, it was changed, another process is writing it, or it cannot be written.
        """
        recorder = cls.__new__(cls)
        recorder.path = folder / FILE_NAME
        try:
            recorder._file = recorder.path.open("r+b", buffering=0)
        except FileNotFoundError as error:
            raise _no_evidence(recorder.path, error) from error
        except OSError as error:
            raise UsageError(
                f"{recorder.path} cannot be written ({error.strerror}); the evidence is kept.",
                hint=f"specaudit analyze {shlex.quote(str(folder))}",
            ) from error
        _lock(recorder._file, folder)
        try:
            recorder._go_on_behind(_read(recorder.path))
        except SpecauditError:
            recorder.close()
            raise
        return recorder

    def _go_on_behind(self, read: "_Read") -> None:
        self._length = read.length
        self._previous = read.digest
        self.entries: list[AnyEntry] = read.entries
        try:
            self._file.seek(self._length)
            self._file.truncate()
        except OSError as error:
            raise CouldNotTest(f"{self.path} could not be cut to whole lines ({error.strerror}).") from error

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
                hint=f"specaudit run --resume {shlex.quote(str(self.path.parent))}, when there is room again",
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
    read = _read(folder if folder.is_file() else folder / FILE_NAME)
    return Evidence(read.entries, digest=read.digest)


class _Read(NamedTuple):
    """Evidence as it stands in a file."""

    entries: list[AnyEntry]
    digest: str
    length: int
    """Bytes of all whole lines."""


def _read(path: Path) -> _Read:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _no_evidence(path, error) from error
    entries: list[AnyEntry] = []
    slots: dict[str, int] = {}
    previous = NO_PREVIOUS
    *lines, rest = data.split(b"\n")
    if lines:
        refuse_newer(version_of(lines[0]), str(path))
    for number, line in enumerate(lines, start=1):
        try:
            entry = entry_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"Line {number} of {path} is not a record of evidence: {error}.") from error
        if entry.previous != previous:
            raise UsageError(
                f"The chain of {path} is broken at line {number}: it or the line before was changed, added or removed.",
                hint="specaudit verify, on a copy that nobody touched",
            )
        if fault := _fault(entry, line, entries, slots):
            raise UsageError(f"Line {number} of {path} {fault}.")
        if isinstance(entry, StageEntry):
            slots[entry.stage.name] = entry.stage.size
        previous = hashlib.sha256(line).hexdigest()
        entries.append(entry)
    if not entries:
        raise UsageError(f"{path} holds no record, so there is nothing to judge.", hint="specaudit run --out FOLDER")
    return _Read(entries=entries, digest=previous, length=len(data) - len(rest))


def _no_evidence(path: Path, error: OSError) -> UsageError:
    return UsageError(f"There is no evidence at {path} ({error.strerror}).", hint="specaudit run --out FOLDER")


def _lock(file: FileIO, folder: Path) -> None:
    """Take the lock, or close the file and refuse. File systems that cannot lock are gone on with, unlocked."""
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(
            f"Another process is collecting into {folder}.", hint="Wait for its end, or take another folder"
        ) from error
    except OSError:
        return


class _Planned(msgspec.Struct):
    """The part of a line that has a digest of its own, as it stands there.

    Its bytes are digested and not the record's: a later version writes more fields than were read.
    """

    plan: msgspec.Raw = msgspec.Raw()
    stage: msgspec.Raw = msgspec.Raw()


def _digest_of(line: bytes, part: Literal["plan", "stage"]) -> str:
    return hashlib.sha256(getattr(msgspec.json.decode(line, type=_Planned), part)).hexdigest()


def _fault(entry: AnyEntry, line: bytes, before: list[AnyEntry], slots: dict[str, int]) -> str:
    """What is wrong with an entry where it stands; nothing where an audit may have written it there.

    `slots` are the planned requests of each stage so far.
    """
    if isinstance(entry, PlanEntry) == bool(before):
        return "is a second plan" if before else "is not a plan, with which the evidence of an audit begins"
    if before and isinstance(before[-1], StopEntry | SealEntry):
        goes_on = isinstance(before[-1], StopEntry) and isinstance(entry, ResumeEntry)
        return "" if goes_on else "stands behind the record that ended the audit"
    match entry:
        case PlanEntry() if entry.plan.version != FORM_VERSION:
            return f"is of version {entry.plan.version}, and this specaudit reads version {FORM_VERSION}"
        case PlanEntry() if entry.digest != _digest_of(line, "plan"):
            return "has not the digest of its plan"
        case StageEntry() if entry.digest != _digest_of(line, "stage") or entry.stage.name in slots:
            return "has not the digest of its stage, or is that stage's second plan"
        case AttemptEntry() if not 0 <= entry.slot < slots.get(entry.stage, 0):
            return "answers a request that was not planned"
        case SnapshotEntry() if entry.sha256 != hashlib.sha256(entry.page.encode()).hexdigest():
            return "has not the digest of its page"
        case SealEntry() if entry.records != len(before):
            return f"seals {entry.records} records, and {len(before)} stand before it"
        case _:
            return ""
