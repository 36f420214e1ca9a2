import contextlib
import errno
import hashlib
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.audit.record import FILE_NAME, Recorder, read_evidence
from specaudit.model.completion import Completion, Response
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
)
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.record import digest, to_json
from tests.audit.small import made_plan, made_stage

STAGE = made_stage([3])


def attempt(slot: int, token: int = 0) -> AttemptEntry:
    response = Response(completions=(Completion(tokens=(token, 1), finish_reason="length"),))
    return AttemptEntry(stage="T1", slot=slot, number=1, started="2026", seconds=0.5, response=response)


def snapshot(page: str = "a_token_total 1\n") -> SnapshotEntry:
    own = hashlib.sha256(page.encode()).hexdigest()
    return SnapshotEntry(stage="T1", block=0, taken="2026", quiet=True, page=page, sha256=own)


def plan_entry() -> PlanEntry:
    return PlanEntry(plan=made_plan(), digest=digest(made_plan()))


def stage_entry() -> StageEntry:
    return StageEntry(stage=STAGE, digest=digest(STAGE))


def resume_entry() -> ResumeEntry:
    return ResumeEntry(tool="0", resumed="2026")


def whole() -> list[AnyEntry]:
    return [plan_entry(), stage_entry(), snapshot(), attempt(0), attempt(1), attempt(2), SealEntry(records=6)]


def record(folder: Path, entries: list[AnyEntry]) -> Path:
    with Recorder(folder) as recorder:
        for entry in entries:
            recorder.append(entry)
    return folder / FILE_NAME


def chained(entries: list[AnyEntry]) -> bytes:
    """What a forger writes who knows how the chain is made."""
    data, previous = b"", NO_PREVIOUS
    for entry in entries:
        line = to_json(type(entry)(**{**_fields(entry), "previous": previous}))
        previous = hashlib.sha256(line).hexdigest()
        data += line + b"\n"
    return data


def _fields(entry: AnyEntry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in entry.__struct_fields__}


def test_every_record_is_a_line_that_carries_the_digest_of_the_line_before(tmp_path: Path) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["plan", "stage", "snapshot", *["attempt"] * 3, "seal"]
    before = [NO_PREVIOUS, *(hashlib.sha256(line).hexdigest() for line in lines)]
    assert [json.loads(line)["previous"] for line in lines] == before[:-1]
    assert read_evidence(tmp_path).digest == before[-1]


def test_a_record_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for count, entry in enumerate(whole(), start=1):
            recorder.append(entry)
            data = recorder.path.read_bytes()
            assert data.endswith(b"\n")
            assert data.count(b"\n") == count


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for entry in whole():
            recorder.append(entry)
        written = recorder.evidence()
    read = read_evidence(tmp_path)
    assert read.entries == written.entries
    assert read.digest == written.digest
    assert read.sealed
    assert read_evidence(tmp_path / FILE_NAME).digest == read.digest


@pytest.mark.parametrize("number", range(1, 7))
def test_a_changed_line_is_named(tmp_path: Path, number: int) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(b":", b": ", 1)  # the same record, other bytes
    path.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match=rf"broken at line {number + 1}\b"):
        read_evidence(tmp_path)


@pytest.mark.parametrize("number", range(2, 7))
def test_a_removed_line_is_named(tmp_path: Path, number: int) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[number - 1]
    path.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match=rf"broken at line {number}\b"):
        read_evidence(tmp_path)


def test_an_added_line_is_named(tmp_path: Path) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[3], *lines[4:]]))
    with pytest.raises(UsageError, match="broken at line 5"):
        read_evidence(tmp_path)


def test_swapped_lines_are_named(tmp_path: Path) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    path.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match="broken at line 4"):
        read_evidence(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"{}",
        b'{"kind":"attempt"}',
        b'{"kind":"other"}',
        b'{"kind":"stop","why":"\xff"}',
        b"\x00\x01",
        b'{"kind":"plan","plan":{"suite":{"checks":{"A":{"b":' + b"[" * 100_000,
    ],
)
def test_a_foreign_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = record(tmp_path, whole())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], line + b"\n", *lines[2:]]))
    with pytest.raises(UsageError, match=r"Line 3 of .* is not a record of evidence"):
        read_evidence(tmp_path)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = record(tmp_path_factory.mktemp("evidence"), whole())
    good = path.read_bytes()
    sealed = good.rindex(b'"records"')  # what follows it is the end of the last line, which only the seal covers
    place = data.draw(st.integers(0, sealed - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != good[place]))
    path.write_bytes(good[:place] + bytes([byte]) + good[place + 1 :])
    with pytest.raises(UsageError):
        read_evidence(path)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_cut_anywhere_it_is_read_up_to_the_last_whole_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = record(tmp_path_factory.mktemp("evidence"), whole())
    good = path.read_bytes()
    end = data.draw(st.integers(good.index(b"\n") + 1, len(good) - 1))
    path.write_bytes(good[:end])
    evidence = read_evidence(path)
    whole_lines = good[:end].split(b"\n")[:-1]
    assert len(evidence.entries) == len(whole_lines)
    assert evidence.digest == hashlib.sha256(whole_lines[-1]).hexdigest()
    assert not evidence.sealed


@pytest.mark.parametrize("data", [b"", b'{"kind":"plan"', b"\n"])
def test_a_file_without_a_plan_is_no_evidence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(UsageError, match=r"holds no record|Line 1 of .* is not a record"):
        read_evidence(tmp_path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([stage_entry()], "Line 1 .* is not a plan"),
        ([plan_entry(), plan_entry()], "Line 2 .* is a second plan"),
        ([PlanEntry(plan=made_plan(seed=1), digest=digest(made_plan()))], "Line 1 .* has not the digest of its plan"),
        (
            [PlanEntry(plan=made_plan(version=2), digest="")],
            "newer specaudit: .* version 2, .* version 1",
        ),
        ([PlanEntry(plan=made_plan(version=0), digest="")], "Line 1 .* is of version 0, .* reads version 1"),
        ([plan_entry(), StageEntry(stage=made_stage([2]), digest=digest(STAGE))], "Line 2 .* digest of its stage"),
        ([plan_entry(), stage_entry(), stage_entry()], "Line 3 .* second plan"),
        ([plan_entry(), attempt(0)], "Line 2 .* answers a request that was not planned"),
        ([plan_entry(), stage_entry(), attempt(3)], "Line 3 .* answers a request that was not planned"),
        ([plan_entry(), stage_entry(), attempt(-1)], "Line 3 .* answers a request that was not planned"),
        (
            [plan_entry(), SnapshotEntry(stage="T1", block=0, taken="", quiet=True, page="x", sha256="")],
            "Line 2 .* page",
        ),
        ([plan_entry(), SealEntry(records=2)], "Line 2 .* seals 2 records, and 1 stand before it"),
        ([plan_entry(), SealEntry(records=1), StopEntry(why="late")], "Line 3 .* stands behind"),
        ([plan_entry(), StopEntry(why="died"), SealEntry(records=2)], "Line 3 .* stands behind"),
        ([plan_entry(), SealEntry(records=1), resume_entry()], "Line 3 .* stands behind"),
        ([resume_entry()], "Line 1 .* is not a plan"),
    ],
)
def test_a_chain_alone_does_not_make_evidence(tmp_path: Path, entries: list[AnyEntry], message: str) -> None:
    (tmp_path / FILE_NAME).write_bytes(chained(entries))
    with pytest.raises(UsageError, match=message):
        read_evidence(tmp_path)


def test_evidence_is_never_written_over(tmp_path: Path) -> None:
    path = record(tmp_path, whole())
    good = path.read_bytes()
    with pytest.raises(UsageError, match="already holds evidence"):
        Recorder(tmp_path)
    assert path.read_bytes() == good


def test_a_folder_is_made_with_its_parents_and_may_hold_other_things(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    record(folder, whole())
    record(folder / "c", whole())
    assert read_evidence(folder / "c").sealed


def test_a_file_in_the_folders_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is a file; evidence needs a folder"):
        Recorder(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        Recorder(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_told() -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        Recorder(Path("/proc/specaudit"))


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As good as a full disk: the kernel writes up to the limit, and then refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    entries = whole()
    with Recorder(tmp_path) as recorder:
        for entry in entries[:3]:
            recorder.append(entry)
        good = recorder.path.read_bytes()
        with largest_file(len(good) + 40), pytest.raises(CouldNotTest, match="could not be written") as caught:
            recorder.append(entries[3])
        assert caught.value.exit_code == 3
        assert recorder.path.read_bytes() == good
        assert len(recorder.entries) == 3
        recorder.append(StopEntry(why="The disk was full."))  # there is room again
    evidence = read_evidence(tmp_path)
    assert evidence.stop is not None
    assert len(evidence.entries) == 4


def test_evidence_of_a_newer_form_is_refused_by_its_version_and_not_by_its_fields(tmp_path: Path) -> None:
    line = json.loads(to_json(plan_entry()))
    line["plan"] |= {"version": 7, "colour": "red"}
    (tmp_path / FILE_NAME).write_bytes(json.dumps(line | {"weight": 3}).encode() + b"\n")
    with pytest.raises(
        UsageError, match=r"written by a newer specaudit: .* version 7, .* reads version 1\.$"
    ) as caught:
        read_evidence(tmp_path)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("half", [b"", b'{"kind":"att', b"\xff"])
def test_reopened_it_goes_on_behind_the_last_whole_line(tmp_path: Path, half: bytes) -> None:
    path = record(tmp_path, whole()[:4])
    good = path.read_bytes()
    path.write_bytes(good + half)
    with Recorder.reopened(tmp_path) as recorder:
        assert path.read_bytes() == good
        recorder.append(resume_entry())
        recorder.append(attempt(1))
        written = recorder.evidence()
    read = read_evidence(tmp_path)
    assert path.read_bytes().startswith(good)
    assert (read.entries, read.digest) == (written.entries, written.digest)


def test_a_stop_may_be_gone_on_from_any_number_of_times(tmp_path: Path) -> None:
    record(tmp_path, [plan_entry(), StopEntry(why="one")])
    for _ in range(2):
        with Recorder.reopened(tmp_path) as recorder:
            recorder.append(resume_entry())
            recorder.append(StopEntry(why="another"))
    evidence = read_evidence(tmp_path)
    assert evidence.stop is not None
    assert len(evidence.entries) == 6


def test_reopening_checks_the_chain_and_leaves_neither_change_nor_lock(tmp_path: Path) -> None:
    path = record(tmp_path, whole()[:5])
    spoilt = path.read_bytes().replace(b'"seconds":0.5', b'"seconds":0.6') + b"half"
    path.write_bytes(spoilt)
    for _ in range(2):
        with pytest.raises(UsageError, match="broken at line 5"):
            Recorder.reopened(tmp_path)
    assert path.read_bytes() == spoilt


def test_one_process_at_a_time(tmp_path: Path) -> None:
    record(tmp_path / "old", whole()[:4])
    with Recorder.reopened(tmp_path / "old"):
        for _ in range(2):
            with pytest.raises(UsageError, match=r"Another process is collecting into .*old\.$") as caught:
                Recorder.reopened(tmp_path / "old")
        assert caught.value.exit_code == 2
    Recorder.reopened(tmp_path / "old").close()
    with Recorder(tmp_path / "new") as recorder:
        recorder.append(plan_entry())
        with pytest.raises(UsageError, match="Another process is collecting into"):
            Recorder.reopened(tmp_path / "new")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_read_only_folder_is_told_and_the_evidence_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = record(tmp_path, whole()[:4])
    good = path.read_bytes()

    def refuse(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        with pytest.raises(UsageError, match=rf"cannot be written \({os.strerror(code)}\); the evidence is kept"):
            Recorder.reopened(tmp_path)
    assert path.read_bytes() == good


def test_a_file_system_without_locks_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    record(tmp_path, whole()[:4])
    Recorder.reopened(tmp_path).close()


def test_no_evidence_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no evidence at") as caught:
        read_evidence(tmp_path)
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError, match="There is no evidence at"):
        read_evidence(tmp_path / "nowhere")
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        read_evidence(tmp_path)
