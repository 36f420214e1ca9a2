from pathlib import Path

from specaudit.audit.record import FILE_NAME, Recorder
from specaudit.audit.run import run_audit
from specaudit.model.entries import PlanEntry, StopEntry
from specaudit.model.record import digest
from tests.audit.small import made_plan, small_audit
from tests.cli.conftest import Specaudit


def test_the_root_hash_is_the_one_of_the_report(specaudit: Specaudit) -> None:
    report = run_audit(small_audit(Path("out"), select=("GRD1",)))
    ran = specaudit("verify", "out")
    count = Path("out", FILE_NAME).read_bytes().count(b"\n")
    assert (ran.code, ran.out) == (0, f"{count} records, unbroken, sealed.\nsha256 {report.evidence_digest}\n")


def test_evidence_that_says_why_it_stopped_is_whole(specaudit: Specaudit) -> None:
    with Recorder(Path("out")) as recorder:
        recorder.append(PlanEntry(plan=made_plan(), digest=digest(made_plan())))
        recorder.append(StopEntry(why="It died."))
    ran = specaudit("verify", "out")
    assert ran.code == 0
    assert ran.out.startswith("2 records, unbroken, stopped, which its last record says.\n")


def test_lines_taken_from_the_end_are_noticed(specaudit: Specaudit) -> None:
    run_audit(small_audit(Path("out"), select=("GRD1",)))
    path = Path("out", FILE_NAME)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    ran = specaudit("verify", "out")
    assert ran.code == 130
    assert "cut off" in ran.out
