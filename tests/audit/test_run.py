import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from specaudit.audit import arms
from specaudit.audit import run as running
from specaudit.audit.collect import Collector
from specaudit.audit.events import Event, Judging, Probed, RequestEnded, StageStarted
from specaudit.audit.record import FILE_NAME, Recorder, read_evidence
from specaudit.audit.run import run_audit
from specaudit.audit.suites import load_suite
from specaudit.engines.interface import Access
from specaudit.model.entries import AnyEntry, PlanEntry, SealEntry, StopEntry
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Arm
from specaudit.model.report import Report
from tests.audit.small import SMALL, small_audit


def verdicts(report: Report) -> dict[str, Verdict]:
    return {finding.check: finding.verdict for finding in report.findings}


def finding(report: Report, check_id: str) -> Finding:
    return next(finding for finding in report.findings if finding.check == check_id)


def test_the_embedded_decoder_conforms(tmp_path: Path) -> None:
    report = run_audit(small_audit(tmp_path))
    assert set(verdicts(report).values()) == {Verdict.CONFORMS}
    assert report.exit_code == 0
    assert report.complete
    assert report.stopped is None
    assert report.lost == 0
    evidence = read_evidence(tmp_path)
    assert isinstance(evidence.entries[0], PlanEntry)
    assert isinstance(evidence.entries[-1], SealEntry)
    assert evidence.digest == report.evidence_digest


KILLED_BY = {
    "bonus-in-numerator": "CTR1",
    "draft0-unverified": "GRD1",
    "resid-from-target": "LAW1",
    "reuse-uniform": "LAW1",
}


@pytest.mark.parametrize(("name", "check_id"), KILLED_BY.items())
def test_a_mutant_violates(tmp_path: Path, name: str, check_id: str) -> None:
    report = run_audit(small_audit(tmp_path, engine=f"mutant:{name}"))
    assert report.exit_code == 1
    assert finding(report, check_id).verdict is Verdict.VIOLATES


@pytest.mark.parametrize("name", ["resid-from-target", "reuse-uniform"])
def test_the_quick_suite_names_total_variation_with_interval_and_witness(tmp_path: Path, name: str) -> None:
    audit = small_audit(tmp_path, suite=load_suite("quick"), engine=f"mutant:{name}", select=("LAW1",), fixed_n=True)
    found = finding(run_audit(audit), "LAW1")
    assert found.effect is not None
    assert found.effect.name == "total variation"
    assert found.effect.low is not None
    assert found.effect.high is not None
    assert 0.05 < found.effect.low < found.effect.value < found.effect.high
    assert found.witness is not None
    assert found.witness.what.startswith("word ")


def test_a_plain_subject_is_inconclusive_for_nothing_was_drafted(tmp_path: Path) -> None:
    report = run_audit(small_audit(tmp_path, draft_tokens=0))
    assert report.exit_code == 4
    assert verdicts(report)["LAW1"] is Verdict.INCONCLUSIVE
    assert "drafted" in finding(report, "GRD1").summary
    allowed = small_audit(tmp_path / "allowed", draft_tokens=0, allow_inconclusive=True)
    assert run_audit(allowed).exit_code == 0


def comparable(entry: AnyEntry) -> bytes:
    """An entry without times, and without what follows from them."""
    data = msgspec.to_builtins(entry)
    for volatile in ("previous", "started", "seconds", "taken", "page", "sha256", "digest"):
        data.pop(volatile, None)
    if "plan" in data:
        data["plan"]["created"] = ""
    return msgspec.json.encode(data)


def test_the_same_audit_asks_and_is_answered_the_same(tmp_path: Path) -> None:
    for name, concurrency in (("a", 4), ("b", 4)):
        run_audit(small_audit(tmp_path / name, concurrency=concurrency))
    first, second = (read_evidence(tmp_path / name).entries for name in "ab")
    assert sorted(map(comparable, first)) == sorted(map(comparable, second))


def test_another_seed_asks_for_other_draws(tmp_path: Path) -> None:
    tokens = []
    for seed in (0, 1):
        run_audit(small_audit(tmp_path / str(seed), select=("LAW1",), seed=seed))
        evidence = read_evidence(tmp_path / str(seed))
        tokens.append(evidence.draws(*evidence.parts("LAW1.sample"))["subject"].tokens)
    assert tokens[0].shape != tokens[1].shape or (tokens[0] != tokens[1]).any()


def test_who_listens_hears_the_audit_in_order(tmp_path: Path) -> None:
    heard: list[Event] = []
    run_audit(small_audit(tmp_path, select=("GRD1",), listener=heard.append))
    assert [type(event) for event in heard] == [Probed, Probed, StageStarted, *[RequestEnded] * 24, Judging]
    subject = heard[0]
    assert isinstance(subject, Probed)
    assert subject.arm.role == "subject"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "mutant:resid-from-targte"}, "resid-from-target"),
        ({"engine": "refrence"}, "Did you mean 'reference'?"),
        ({"select": ("NO1",)}, "has no check 'NO1'"),
        ({"alpha": 0.9}, "is not an error budget"),
        ({"engine": "openai"}, "needs an address"),
    ],
)
def test_what_cannot_be_planned_leaves_nothing_behind(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        run_audit(small_audit(tmp_path / "out", **options))
    assert not (tmp_path / "out").exists()


def test_evidence_is_never_written_over(tmp_path: Path) -> None:
    run_audit(small_audit(tmp_path, select=("GRD1",)))
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(UsageError, match="already holds evidence"):
        run_audit(small_audit(tmp_path, select=("GRD1",)))
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_an_engine_that_cannot_be_reached_is_a_report(tmp_path: Path) -> None:
    report = run_audit(small_audit(tmp_path, endpoint="http://127.0.0.1:9/v1"))
    assert report.exit_code == 3
    assert report.stopped is not None
    assert "Nothing answers at http://127.0.0.1:9/v1/models" in report.stopped
    assert isinstance(read_evidence(tmp_path).entries[-1], StopEntry)


def test_a_full_disk_in_mid_run_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Recorder._write

    def full(self: Recorder, line: bytes) -> None:
        if len(self.entries) >= 20:
            raise CouldNotTest("The disk is full.")
        write(self, line)

    monkeypatch.setattr(Recorder, "_write", full)
    with pytest.raises(CouldNotTest, match="The disk is full"):
        run_audit(small_audit(tmp_path))
    assert len(read_evidence(tmp_path).entries) == 20


def test_ctrl_c_is_recorded_and_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(self: Collector, stage: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Collector, "collect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_audit(small_audit(tmp_path))
    stop = read_evidence(tmp_path).stop
    assert stop is not None
    assert stop.interrupted


def test_a_key_is_nowhere_in_the_evidence(tmp_path: Path) -> None:
    run_audit(small_audit(tmp_path, select=("GRD1",), api_key="sk-very-secret"))
    assert b"very-secret" not in (tmp_path / FILE_NAME).read_bytes()


@pytest.mark.parametrize(
    ("addresses", "keys"),
    [
        ({"reference": "http://b:1/v1", "metrics": "http://c/metrics"}, {"endpoint": "sk"}),
        (
            {"reference": "http://a:1/v2", "metrics": "http://A:1/metrics"},
            dict.fromkeys(("endpoint", "reference", "metrics"), "sk"),
        ),
        ({"reference": "http://a:2/v1", "metrics": "http://a/metrics"}, {"endpoint": "sk"}),
        ({"reference": "https://a:1/v1", "metrics": "https://a/metrics"}, {"endpoint": "sk"}),
        ({"reference": "http://a.b/v1", "reference_api_key": "sk-r"}, {"endpoint": "sk", "reference": "sk-r"}),
        ({"reference": "http://a:2/v1", "reference_api_key": "sk-r"}, {"endpoint": "sk", "reference": "sk-r"}),
        ({"reference": "self", "reference_api_key": "sk-r"}, {"endpoint": "sk", "reference": "sk"}),
    ],
)
def test_a_key_for_one_origin_is_never_shown_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, addresses: dict[str, str], keys: dict[str, str]
) -> None:
    shown: dict[str, str | None] = {}

    class Reached(Exception):
        pass

    def reach(arm: Arm, access: Access) -> None:
        shown["endpoint" if arm.role == "subject" else "reference"] = access.api_key
        assert bool(access.headers) == (access.api_key == "sk")

    def read(url: str, access: Access) -> None:
        shown["metrics"] = access.api_key
        assert bool(access.headers) == (access.api_key == "sk")

    def stop(folder: Path) -> None:
        raise Reached

    for module, name, replaced in ((arms, "build", reach), (arms, "MetricsAddress", read), (running, "Recorder", stop)):
        monkeypatch.setattr(module, name, replaced)
    with pytest.raises(Reached):
        run_audit(small_audit(tmp_path, endpoint="http://a:1/v1", api_key="sk", headers={"X": "sk"}, **addresses))
    assert {name: key for name, key in shown.items() if key} == keys
    assert "sk" not in repr(small_audit(tmp_path, api_key="sk", reference_api_key="sk-r", headers={"X": "sk"}))


def test_the_report_is_made_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(folder: Path) -> Evidence:
        assert read_evidence(folder).sealed
        raise CouldNotTest("read from the file")

    monkeypatch.setattr(running, "read_evidence", read)
    with pytest.raises(CouldNotTest, match="read from the file"):
        run_audit(small_audit(tmp_path, select=("GRD1",)))


# Signals need a process of their own. A shell's background job ignores SIGINT and hands that on to what it starts.

AT_A_TERMINAL = """
import signal
from specaudit.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def started(out: Path) -> subprocess.Popen[str]:
    """`specaudit run` on an audit that takes a while, once some requests have been answered."""
    suite = out.with_suffix(".toml")
    suite.write_text(SMALL.read_text().replace("prompts = 12", "prompts = 4000").replace("= 8\n", "= 64\n"))
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, "run", "--suite", suite, "--out", out, "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if (out / FILE_NAME).exists() and (out / FILE_NAME).read_bytes().count(b"\n") > 20:
            return process
        time.sleep(0.01)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_process_says_so_and_keeps_its_evidence(tmp_path: Path, number: signal.Signals) -> None:
    process = started(tmp_path / "out")
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err == f"specaudit: Interrupted; the evidence is kept.\nTry: specaudit run --resume {tmp_path / 'out'}\n"
    evidence = read_evidence(tmp_path / "out")
    assert evidence.stop is not None
    assert evidence.stop.interrupted
    assert not evidence.sealed


def test_a_killed_process_leaves_whole_lines(tmp_path: Path) -> None:
    process = started(tmp_path / "out")
    process.kill()
    process.communicate(timeout=20)
    evidence = read_evidence(tmp_path / "out")
    assert evidence.attempts()
    assert evidence.stop is None
    assert not evidence.sealed


def test_of_two_processes_on_one_folder_one_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "specaudit", "run", "--suite", SMALL, "--select", "GRD1", "-q", "--out", tmp_path]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    assert any("already holds evidence" in err for err in said)
    assert read_evidence(tmp_path).sealed
