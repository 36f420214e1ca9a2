"""An audit that is broken off anywhere, and goes on."""

import os
import random
import signal
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from specaudit.audit import probing
from specaudit.audit.audit import Audit
from specaudit.audit.collect import Collector
from specaudit.audit.events import Earned, Event, Judging, Probed, RequestEnded, Resumed, StageStarted
from specaudit.audit.record import FILE_NAME, Recorder, read_evidence
from specaudit.audit.resume import Resume, resume_audit
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.checks.windows import block_windows
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import ProbeEntry, ResumeEntry, SealEntry, SnapshotEntry, StopEntry
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.record import to_json
from specaudit.model.report import Report
from tests.audit.small import SMALL, small_audit
from tests.audit.zygote import Zygote

BROKEN_OFF = SMALL.with_name("broken_off.toml")
KILLS = 20


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """An audit that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run_audit(small_audit(folder))


def verdicts(report: Report) -> dict[str, Verdict]:
    return {finding.check: finding.verdict for finding in report.findings}


def same_draws(ours: Evidence, theirs: Evidence) -> bool:
    assert list(ours.stages) == list(theirs.stages)
    assert ours.stages == theirs.stages
    for stage in theirs.stages:
        found, expected = ours.draws(stage), theirs.draws(stage)
        assert found.keys() == expected.keys()
        for role in expected:
            for name in ("tokens", "prompt_index", "slot"):
                np.testing.assert_array_equal(getattr(found[role], name), getattr(expected[role], name))
            assert found[role].vocabulary == expected[role].vocabulary
    return True


def answers(evidence: Evidence) -> list[tuple[str, int]]:
    return [(attempt.stage, attempt.slot) for attempt in evidence.attempts() if attempt.response is not None]


def cut(source: Path, folder: Path, lines: int, *, half: bytes = b"") -> Path:
    """A copy of evidence that ends behind so many lines, and half of another."""
    folder.mkdir()
    kept = (source / FILE_NAME).read_bytes().splitlines(keepends=True)[:lines]
    (folder / FILE_NAME).write_bytes(b"".join(kept) + half)
    return folder


def line_of(folder: Path, text: str, *, count: int = 1) -> int:
    """The number of the line in which a text stands for the count-th time."""
    lines = (folder / FILE_NAME).read_text().splitlines()
    return [number for number, line in enumerate(lines, start=1) if text in line][count - 1]


def killed(zygote: Zygote, folder: Path, suite: Path, growth: int) -> bool:
    """Run or resume an audit, and kill it when its evidence has grown by so many bytes; False where it ended sooner."""
    path = folder / FILE_NAME
    begun = path.exists() and b"\n" in path.read_bytes()
    pid = zygote.start("run", "-q", *(("--resume", folder) if begun else ("--suite", suite, "--out", folder)))
    goal = (path.stat().st_size if begun else 1) + growth
    while not zygote.has_ended():
        if path.exists() and path.stat().st_size >= goal and b"\n" in path.read_bytes():
            os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.0005)
    code = zygote.ended()
    assert code in (0, 4, -signal.SIGKILL)
    return code == -signal.SIGKILL


def test_killed_at_twenty_random_moments_it_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    suite = load_suite(str(BROKEN_OFF))
    expected = run_audit(Audit(suite=suite, out=tmp_path / "whole"))
    whole = read_evidence(tmp_path / "whole")
    share = (tmp_path / "whole" / FILE_NAME).stat().st_size / KILLS
    rng = random.Random(3)
    kills, folders = 0, [tmp_path / "0"]
    with Zygote() as zygote:
        while kills < KILLS:
            if killed(zygote, folders[-1], BROKEN_OFF, int(rng.uniform(0, 1.5 * share))):
                kills += 1
            else:
                folders.append(tmp_path / str(len(folders)))
    for folder in folders:
        if not (folder / FILE_NAME).exists():
            continue
        report = resume_audit(Resume(folder=folder))
        evidence = read_evidence(folder)
        assert evidence.sealed
        assert report.complete
        assert report.lost == 0
        assert same_draws(evidence, whole)
        assert len(answers(evidence)) == len(set(answers(evidence))) == len(answers(whole))
        # Where every window of GRD1 was cut, nobody saw whether anything was drafted.
        seen = any(window.status == "valid" for window in block_windows(evidence, "GRD1"))
        unseen = {} if seen else {"GRD1": Verdict.INCONCLUSIVE}
        assert verdicts(report) == verdicts(expected) | unseen
    resumed = [entry for folder in folders for entry in _entries(folder) if isinstance(entry, ResumeEntry)]
    assert len(resumed) >= KILLS


def _entries(folder: Path) -> tuple[object, ...]:
    return read_evidence(folder).entries if (folder / FILE_NAME).exists() else ()


@pytest.mark.parametrize("seed", range(8))
def test_cut_after_any_line_it_ends_with_the_same_draws(tmp_path: Path, whole: tuple[Path, Report], seed: int) -> None:
    folder, _ = whole
    rng = random.Random(seed)
    total = (folder / FILE_NAME).read_bytes().count(b"\n")
    half = rng.choice([b"", b'{"kind":"attempt","prev', b"\x00"])
    broken = cut(folder, tmp_path / "cut", rng.randrange(1, total), half=half)
    before = (broken / FILE_NAME).read_bytes().removesuffix(half)
    resume_audit(Resume(folder=broken))
    evidence = read_evidence(broken)
    assert evidence.sealed
    assert same_draws(evidence, read_evidence(folder))
    assert len(answers(evidence)) == len(set(answers(evidence)))
    assert (broken / FILE_NAME).read_bytes().startswith(before)


def test_what_was_answered_is_not_asked_again(tmp_path: Path, whole: tuple[Path, Report]) -> None:
    broken = cut(whole[0], tmp_path / "cut", line_of(whole[0], '"stage":"LAW1.sample.0","slot"', count=10))
    before = read_evidence(broken)
    heard: list[Event] = []
    resume_audit(Resume(folder=broken, listener=heard.append))
    evidence = read_evidence(broken)
    own = [type(entry) for entry in evidence.entries[len(before.entries) :]]
    assert own[:3] == [ResumeEntry, ProbeEntry, ProbeEntry]
    assert own[-1] is SealEntry
    first, second = (len(evidence.stages[name].slots()) for name in evidence.parts("LAW1.sample"))
    sample = first + second
    windows = len(evidence.stages["CTR.windows"].slots())
    assert [event for event in heard if not isinstance(event, Earned)] == [
        Resumed(answered=34, sealed=False),
        *(event for event in heard if isinstance(event, Probed)),
        StageStarted(evidence.stages["LAW1.sample.0"], settled=10),
        *[event for event in heard if isinstance(event, RequestEnded)][: first - 10],
        StageStarted(evidence.stages["LAW1.sample.1"]),
        *[event for event in heard if isinstance(event, RequestEnded)][first - 10 : sample - 10],
        StageStarted(evidence.stages["CTR.windows"]),
        *[event for event in heard if isinstance(event, RequestEnded)][sample - 10 :],
        Judging(),
    ]
    assert sum(isinstance(event, RequestEnded) for event in heard) == sample - 10 + windows


def test_a_block_that_was_cut_has_no_valid_window_and_the_others_have(
    tmp_path: Path, whole: tuple[Path, Report]
) -> None:
    broken = cut(whole[0], tmp_path / "cut", line_of(whole[0], '"stage":"LAW1.sample.0","slot"', count=10))
    resume_audit(Resume(folder=broken))
    evidence = read_evidence(broken)
    windows = block_windows(evidence, *evidence.parts("LAW1.sample"))
    assert [window.status for window in windows] == ["void", "valid"]
    assert "the server restarted" in windows[0].reasons[0]
    for stage in ("GRD1", "CTR.windows"):
        assert {window.status for window in block_windows(evidence, stage)} == {"valid"}


def test_between_two_blocks_the_reading_before_stays_the_end_of_its_window(
    tmp_path: Path, whole: tuple[Path, Report]
) -> None:
    line = line_of(whole[0], '"stage":"CTR.windows","block"', count=6)  # five windows are complete
    broken = cut(whole[0], tmp_path / "cut", line)
    resume_audit(Resume(folder=broken))
    statuses = [window.status for window in block_windows(read_evidence(broken), "CTR.windows")]
    assert statuses == ["valid"] * 5 + ["void"] + ["valid"] * 14


def test_before_the_first_request_of_a_stage_the_counters_are_read_again(
    tmp_path: Path, whole: tuple[Path, Report]
) -> None:
    broken = cut(whole[0], tmp_path / "cut", line_of(whole[0], '"stage":"GRD1","block"'))
    report = resume_audit(Resume(folder=broken))
    readings = [e for e in read_evidence(broken).entries if isinstance(e, SnapshotEntry) and e.stage == "GRD1"]
    assert [reading.block for reading in readings] == [0, 0, 1, 2, 3, 4, 5]
    assert verdicts(report) == verdicts(whole[1])


def test_a_stop_is_kept_in_the_chain_and_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def died(self: Collector, stage: object) -> None:
        raise CouldNotTest("The subject stopped answering.")

    with monkeypatch.context() as patched:
        patched.setattr(Collector, "collect", died)
        assert run_audit(small_audit(tmp_path, select=("GRD1",))).exit_code == 3
    report = resume_audit(Resume(folder=tmp_path))
    assert (report.exit_code, report.complete, report.stopped) == (0, True, None)
    kinds = [type(entry) for entry in read_evidence(tmp_path).entries]
    assert kinds[kinds.index(StopEntry) + 1] is ResumeEntry


def test_an_interrupted_audit_goes_on_and_may_be_interrupted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(self: Collector, stage: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Collector, "collect", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_audit(small_audit(tmp_path, select=("GRD1",)))
        with pytest.raises(KeyboardInterrupt):
            resume_audit(Resume(folder=tmp_path))
    stop = read_evidence(tmp_path).stop
    assert stop is not None
    assert stop.interrupted
    assert resume_audit(Resume(folder=tmp_path)).exit_code == 0


def test_sealed_evidence_is_judged_and_nothing_else(tmp_path: Path, whole: tuple[Path, Report]) -> None:
    folder, report = whole
    before = (folder / FILE_NAME).read_bytes()
    heard: list[Event] = []
    again = resume_audit(Resume(folder=folder, listener=heard.append))
    assert to_json(again) == to_json(report)
    assert heard == [Resumed(answered=74, sealed=True), Judging()]
    assert (folder / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_without_evidence_there_is_nothing_to_resume(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="There is no evidence at"):
        resume_audit(Resume(folder=tmp_path / folder))
    assert not (tmp_path / "nowhere").exists()


AGREED = {
    "suite": load_suite(str(SMALL)),
    "seed": 0,
    "concurrency": 4,
    "alpha": 0.02,
    "engine": "reference",
    "draft_tokens": 3,
    "ignore": ("LAW", "CTR"),
}


@pytest.fixture(scope="module")
def selected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selected")
    run_audit(small_audit(folder, select=("GRD1",)))
    return folder


def test_what_agrees_with_the_plan_may_be_said_again(selected: Path) -> None:
    said = {**AGREED, "out": selected, "select": ("GRD",)}
    assert resume_audit(Resume(folder=selected, said=said)).exit_code == 0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"seed": 1}, "--seed contradicts the recorded plan, which says: 0."),
        ({"concurrency": 5}, "--concurrency contradicts the recorded plan, which says: 4."),
        ({"alpha": 0.01}, "--alpha contradicts .*: 0.02."),
        ({"engine": "mutant:reuse-uniform"}, "--engine contradicts .*: reference."),
        ({"draft_tokens": 2}, "--draft-tokens contradicts .*: 3."),
        ({"suite": load_suite("quick")}, "--suite contradicts .*: small."),
        ({"select": ("GRD1", "LAW1")}, "--select contradicts .*: GRD1."),
        ({"select": ("LAW1",)}, "--select contradicts .*: GRD1."),
        ({"ignore": ("GRD",)}, "--ignore contradicts .*: GRD1."),
        ({"endpoint": "http://user:secret@a/v1"}, "--endpoint contradicts .*: none."),
        ({"metrics": "http://a/metrics"}, "--metrics contradicts .*: none."),
        ({"model": "m"}, "--model contradicts .*: none."),
        ({"api": "chat"}, "--api contradicts .*: completions."),
        ({"stream": True}, "--stream contradicts .*: False."),
        ({"tokenizer": "vocab.json"}, "--tokenizer contradicts .*: none."),
        ({"segment": "answer"}, "--segment contradicts .*: all."),
        ({"out": Path("elsewhere")}, "--out contradicts"),
        ({"seed": 0, "alpha": 0.1, "concurrency": 1}, "--alpha contradicts"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_the_first_thing_that_contradicts_the_plan_is_named(
    selected: Path, said: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        resume_audit(Resume(folder=selected, said=said))
    assert caught.value.exit_code == 2
    assert "secret" not in caught.value.message


def test_a_suite_of_the_same_name_with_other_settings_contradicts(selected: Path) -> None:
    suite = load_suite(str(SMALL))
    other = msgspec.structs.replace(suite, checks={**suite.checks, "GRD1": {"tolerance": 0.4}})
    with pytest.raises(UsageError, match="--suite contradicts"):
        resume_audit(Resume(folder=selected, said={"suite": other}))


def test_a_selection_requires_what_it_names(whole: tuple[Path, Report]) -> None:
    with pytest.raises(UsageError, match="--select contradicts"):
        resume_audit(Resume(folder=whole[0], said={"select": ("GRD", "LAW", "CTR")}))


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[Audit]:
    """The audits whose engines were asked for; nothing is sent."""
    found: list[Audit] = []

    def reach(audit: Audit, plan: object) -> None:
        found.append(audit)
        raise CouldNotTest("far enough")

    monkeypatch.setattr("specaudit.audit.resume.connect", reach)
    return found


@pytest.fixture
def at_addresses(tmp_path: Path) -> Path:
    """An audit of servers that nobody serves."""
    addresses = {"endpoint": "http://u:p@127.0.0.1:9/v1?k=1", "reference": "http://127.0.0.1:7/v1"}
    run_audit(small_audit(tmp_path, **addresses, metrics="http://127.0.0.1:9/metrics"))
    return tmp_path


def test_addresses_come_from_the_plan_unless_given_again(at_addresses: Path, reached: list[Audit]) -> None:
    for resume in (
        Resume(folder=at_addresses),
        Resume(folder=at_addresses, said={"endpoint": "http://x:y@127.0.0.1:9/v1"}, api_key="sk"),
        Resume(folder=at_addresses, addresses={"endpoint": "http://u:p@127.0.0.1:9/v1", "metrics": "http://b/m"}),
    ):
        with pytest.raises(CouldNotTest, match="far enough"):
            resume_audit(resume)
    assert [audit.endpoint for audit in reached] == [
        "http://127.0.0.1:9/v1",
        "http://x:y@127.0.0.1:9/v1",
        "http://u:p@127.0.0.1:9/v1",
    ]
    assert {audit.reference for audit in reached} == {"http://127.0.0.1:7/v1"}
    assert {audit.metrics for audit in reached} == {"http://127.0.0.1:9/metrics"}
    assert [audit.api_key for audit in reached] == [None, "sk", None]
    assert "sk" not in repr(Resume(folder=at_addresses, api_key="sk", reference_api_key="sk"))


def test_another_public_address_contradicts(at_addresses: Path) -> None:
    with pytest.raises(UsageError, match=r"--reference contradicts .*: http://127.0.0.1:7/v1\."):
        resume_audit(Resume(folder=at_addresses, said={"reference": "http://127.0.0.1:8/v1"}))


def test_an_engine_that_is_another_by_now_is_refused(tmp_path: Path, whole: tuple[Path, Report]) -> None:
    broken = cut(whole[0], tmp_path / "cut", 20)
    entries = list(read_evidence(broken).entries)
    probe = entries[1]
    assert isinstance(probe, ProbeEntry)
    (broken / FILE_NAME).unlink()
    was = msgspec.structs.replace(probe.capabilities, model="markov5")
    entries[1] = msgspec.structs.replace(probe, capabilities=was)
    with Recorder(broken) as recorder:
        for entry in entries:
            recorder.append(entry)
    report = resume_audit(Resume(folder=broken))
    assert report.exit_code == 3
    assert report.stopped is not None
    assert "no longer what it was when the audit began: its model was 'markov5' and is 'markov4'" in report.stopped
    assert read_evidence(broken).capabilities["subject"].model == "markov5"


def test_only_an_arm_that_was_probed_before_can_have_changed() -> None:
    nothing = Evidence([])
    assert probing._changed("subject", nothing, Capabilities(engine="a"), None) == ""


def test_a_folder_that_another_process_writes_is_refused(tmp_path: Path, whole: tuple[Path, Report]) -> None:
    broken = cut(whole[0], tmp_path / "cut", 30)
    before = (broken / FILE_NAME).read_bytes()
    with (
        Recorder.reopened(broken),
        pytest.raises(UsageError, match="Another process is collecting into") as caught,
    ):
        resume_audit(Resume(folder=broken))
    assert caught.value.exit_code == 2
    assert (broken / FILE_NAME).read_bytes() == before


def test_an_audit_that_another_process_ended_meanwhile_is_judged(
    tmp_path: Path, whole: tuple[Path, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = cut(whole[0], tmp_path / "cut", 30)
    sealed = (whole[0] / FILE_NAME).read_bytes()

    def slow(audit: Audit, plan: object) -> None:
        (broken / FILE_NAME).write_bytes(sealed)

    monkeypatch.setattr("specaudit.audit.resume.connect", slow)
    assert to_json(resume_audit(Resume(folder=broken))) == to_json(whole[1])
    assert (broken / FILE_NAME).read_bytes() == sealed


def test_a_full_disk_keeps_the_evidence_and_it_goes_on_later(
    tmp_path: Path, whole: tuple[Path, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = cut(whole[0], tmp_path / "cut", 40)
    write = Recorder._write

    def full(self: Recorder, line: bytes) -> None:
        if len(self.entries) >= 50:
            raise CouldNotTest("The disk is full.")
        write(self, line)

    with monkeypatch.context() as patched:
        patched.setattr(Recorder, "_write", full)
        with pytest.raises(CouldNotTest, match="The disk is full"):
            resume_audit(Resume(folder=broken))
    assert len(read_evidence(broken).entries) == 50
    resume_audit(Resume(folder=broken))
    assert same_draws(read_evidence(broken), read_evidence(whole[0]))
