"""`specaudit run --resume`: in process, and against servers of their own that die and come back."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import FILE_NAME, Recorder, read_evidence
from specaudit.audit.run import run_audit
from specaudit.checks.windows import block_windows
from specaudit.model.entries import ResumeEntry, StopEntry
from specaudit.model.evidence import Evidence
from specaudit.model.report import Report
from tests.audit.small import SMALL, small_audit
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.cli.test_over_http import Server, ready, start

BROKEN_OFF = SMALL.with_name("broken_off.toml")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    run_audit(small_audit(folder, select=("GRD1", "LAW1")))
    return folder


@pytest.fixture
def sealed(recorded: Path) -> Path:
    """A whole audit in the working directory."""
    return Path(shutil.copytree(recorded, "out"))


@pytest.fixture
def broken(sealed: Path) -> Path:
    """One that was killed while it wrote."""
    path = sealed / FILE_NAME
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:40]) + b'{"kind":"atte')
    return sealed


def test_what_was_broken_off_goes_on(specaudit: Specaudit, snapshot: SnapshotAssertion, broken: Path) -> None:
    assert specaudit("analyze", broken).code == 130
    ran = specaudit("run", "--resume", broken)
    assert ran.code == 0
    assert steady(ran, figures=False) == snapshot
    assert specaudit("analyze", broken).out == ran.out
    assert specaudit("verify", broken).code == 0


def test_what_is_complete_is_said_to_be_and_judged(
    specaudit: Specaudit, snapshot: SnapshotAssertion, sealed: Path
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in sealed.iterdir()}
    ran = specaudit("run", "--resume", sealed)
    assert ran.code == 0
    assert steady(ran, figures=False) == snapshot
    assert ran.out == specaudit("analyze", sealed).out
    specaudit("run", "--resume", sealed, "-q")
    assert (sealed / FILE_NAME).stat().st_mtime_ns == before[FILE_NAME]


def test_what_is_complete_exits_as_analyze_does(specaudit: Specaudit) -> None:
    run_audit(small_audit(Path("mutant"), engine="mutant:draft0-unverified", select=("GRD1",)))
    run_audit(small_audit(Path("plain"), draft_tokens=0, select=("GRD1",)))
    assert specaudit("run", "--resume", "mutant", "-q").code == specaudit("analyze", "mutant").code == 1
    assert specaudit("run", "--resume", "plain", "-q").code == 4
    assert specaudit("run", "--resume", "plain", "-q", "--allow-inconclusive").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--seed", "7", "--suite", "quick"],
        ["--suite", "quick"],
        ["--select", "LAW1"],
        ["--endpoint", "http://user:word@127.0.0.1:8000/v1"],
        ["--out", "elsewhere"],
    ],
    ids=" ".join,
)
def test_a_contradiction_is_a_usage_error_that_names_the_first(
    specaudit: Specaudit, snapshot: SnapshotAssertion, broken: Path, arguments: list[str]
) -> None:
    before = (broken / FILE_NAME).read_bytes()
    ran = specaudit("run", "--resume", broken, *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot
    assert (broken / FILE_NAME).read_bytes() == before


def test_what_agrees_may_be_said_again_and_settings_give_way(
    specaudit: Specaudit, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("SPECAUDIT_RUN_SEED", "7")
    Path("specaudit.toml").write_text('suite = "quick"\nalpha = 0.1\n')
    ran = specaudit(
        "run", "--resume", broken, "--suite", SMALL, "--select", "law,grd1", "--out", "out", "--timeout", "5"
    )
    assert (ran.code, ran.out[:8]) == (0, "CONFORMS")


def test_there_must_be_something_to_resume(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit("run", "--resume", "nowhere")
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_a_folder_in_use_is_refused(specaudit: Specaudit, snapshot: SnapshotAssertion, broken: Path) -> None:
    with Recorder.reopened(broken):
        ran = specaudit("run", "--resume", broken)
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_ctrl_c_says_how_to_go_on(specaudit: Specaudit, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(resume: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr("specaudit.audit.resume.resume_audit", interrupt)
    ran = specaudit("run", "--resume", broken)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "specaudit: Interrupted; the evidence is kept.\nTry: specaudit run --resume out\n"


def command(*arguments: object) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "specaudit", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_two_processes_that_resume_one_is_refused(tmp_path: Path) -> None:
    suite = tmp_path / "long.toml"
    suite.write_text(SMALL.read_text().replace("prompts = 12", "prompts = 200"))
    first = command("run", "--suite", suite, "--out", "out", "-q")
    wait_for(Path("out", FILE_NAME), lambda text: text.count("\n") > 20)
    first.kill()
    first.communicate(timeout=20)
    both = [command("run", "--resume", "out", "-q") for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    codes = [process.returncode for process in both]
    assert codes.count(2) <= 1, said
    assert set(codes) <= {0, 2, 4}, said
    evidence = read_evidence(Path("out"))
    assert evidence.sealed
    assert sum(isinstance(entry, ResumeEntry) for entry in evidence.entries) == 1
    if 2 in codes:  # else one began when the other had ended
        assert "Another process is collecting into out." in said[codes.index(2)]


def wait_for(path: Path, there: Callable[[str], bool]) -> None:
    deadline = time.monotonic() + 120
    while not (path.exists() and there(path.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def plain() -> Iterator[Server]:
    process = start("--draft-tokens", "0")
    yield ready(process)
    process.terminate()
    process.communicate(timeout=10)


def answered_once(evidence: Evidence) -> bool:
    """No slot has two answers, and none is asked again behind a loss."""
    for stage in evidence.stages:
        for slot in range(len(evidence.stages[stage].slots())):
            settling = [a for a in evidence.attempts_at(stage, slot) if a.response or (a.failure and a.failure.lost)]
            assert len(settling) == 1, (stage, slot)
            assert evidence.attempts_at(stage, slot)[-1] is settling[0]
    return True


def test_over_http_client_and_server_may_be_killed(specaudit: Specaudit, plain: Server, tmp_path: Path) -> None:
    """The client in the middle of LAW1's sample, then the server in the middle of the windows."""
    suite = tmp_path / "http.toml"
    suite.write_text(
        BROKEN_OFF.read_text()
        .replace("tolerance = 0.2\n", "tolerance = 0.25\n")
        .replace("= 80", "= 40")
        .replace("= 16\npilot", "= 2\npilot")
    )
    subject = ready(start())
    port = subject.endpoint.split(":")[2].removesuffix("/v1")
    addresses = ("--endpoint", subject.endpoint, "--reference", plain.endpoint, "--metrics", subject.metrics)
    evidence = Path("out", FILE_NAME)

    client = command("run", "--suite", suite, "--out", "out", "-q", *addresses)
    wait_for(evidence, lambda text: text.count('"stage":"LAW1.sample.0","slot"') > 4)
    client.kill()
    client.communicate(timeout=20)
    assert not read_evidence(Path("out")).sealed

    client = command("run", "--resume", "out", "-q")
    wait_for(evidence, lambda text: text.count('"stage":"CTR.windows","slot"') > 20)
    os.kill(subject.process.pid, signal.SIGKILL)
    subject.process.communicate(timeout=10)
    out, err = client.communicate(timeout=60)
    assert client.returncode == 3, err
    assert "stopped answering" in out
    assert isinstance(read_evidence(Path("out")).entries[-1], StopEntry)
    assert specaudit("run", "--resume", "out", "-q").code == 3  # it is still away

    again = ready(start("--port", port))
    try:
        ran = specaudit("run", "--resume", "out", "-q", *addresses)
    finally:
        again.process.terminate()
        again.process.communicate(timeout=10)
    whole = read_evidence(Path("out"))
    assert ran.code == 0, ran.out
    assert whole.sealed
    assert answered_once(whole)
    sample, windows = (block_windows(whole, *whole.parts(name)) for name in ("LAW1.sample", "CTR.windows"))
    (cut,) = [window for window in sample if window.status != "valid"]
    assert "somebody else used the server" in cut.reasons[0]
    reasons = [window.reasons[0] for window in windows if window.status != "valid"]
    assert len(reasons) == 1
