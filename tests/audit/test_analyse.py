import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from specaudit.audit.analyse import CUT_OFF, analyse
from specaudit.audit.record import FILE_NAME, Recorder, read_evidence
from specaudit.audit.run import run_audit
from specaudit.checks.grd1 import PrefixEquality
from specaudit.checks.interface import Budget
from specaudit.checks.law1.check import EmittedLaw
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import AnyEntry, AttemptEntry, Failure, PlanEntry, SealEntry, StageEntry, StopEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.record import digest, to_json
from specaudit.model.report import Report
from tests.audit.small import made_plan, made_stage, small_audit


@pytest.fixture(scope="module")
def violation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    folder = tmp_path_factory.mktemp("mutant")
    return folder, run_audit(small_audit(folder, engine="mutant:resid-from-target"))


def ended(folder: Path, source: Path, change: Callable[[list[bytes]], list[bytes]]) -> Path:
    """A copy of evidence with another end."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    lines = (folder / FILE_NAME).read_bytes().splitlines(keepends=True)
    (folder / FILE_NAME).write_bytes(b"".join(change(lines)))
    return folder


def stopped(source: Path, folder: Path, stop: StopEntry) -> Evidence:
    """The evidence of an audit that stopped in place of its seal."""
    entries = read_evidence(source).entries
    with Recorder(folder) as recorder:
        for entry in entries[:-1]:
            recorder.append(entry)
        recorder.append(stop)
    return read_evidence(folder)


def test_judging_again_gives_the_same_bytes(violation: tuple[Path, Report]) -> None:
    folder, report = violation
    assert report.exit_code == 1
    assert to_json(analyse(read_evidence(folder))) == to_json(report)


def test_judging_elsewhere_needs_neither_engine_nor_http(violation: tuple[Path, Report], tmp_path: Path) -> None:
    folder, report = violation
    moved = shutil.copytree(folder, tmp_path / "moved")
    program = """
import json, sys
from specaudit.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "analyze", moved, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert to_json(json.loads(done.stdout)) == to_json(json.loads(to_json(report)))
    loaded = {".".join(name.split(".")[:2]) for name in json.loads(done.stderr)}
    for unwanted in ("aiohttp", "starlette", "uvicorn", "stamina"):
        assert unwanted not in loaded
    assert loaded.isdisjoint({f"specaudit.{name}" for name in ("engines", "decoding", "mutants", "serve")})


def test_a_check_that_crashes_is_an_internal_error_and_the_others_judge_on(
    violation: tuple[Path, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, report = violation

    def crash(*arguments: object) -> Finding:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(PrefixEquality, "judge", crash)
    crashed = analyse(read_evidence(folder))
    assert crashed.exit_code == 70  # although LAW1 violates
    assert crashed.findings[0].verdict is Verdict.INCONCLUSIVE
    assert crashed.findings[0].required
    assert "ZeroDivisionError: by nought" in crashed.findings[0].summary
    assert crashed.findings[1:] == report.findings[1:]


def test_an_interrupted_audit_that_crashes_a_check_is_still_interrupted(
    violation: tuple[Path, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object) -> Finding:
        raise ZeroDivisionError

    monkeypatch.setattr(EmittedLaw, "judge", crash)
    evidence = stopped(violation[0], tmp_path, StopEntry(why="Interrupted.", interrupted=True))
    assert analyse(evidence).exit_code == 130


def test_interrupted_evidence_is_interrupted_whenever_it_is_judged(
    violation: tuple[Path, Report], tmp_path: Path
) -> None:
    evidence = stopped(violation[0], tmp_path, StopEntry(why="Interrupted by the user.", interrupted=True))
    report = analyse(evidence)
    assert (report.exit_code, report.complete, report.stopped) == (130, False, "Interrupted by the user.")
    assert report.findings[1].verdict is Verdict.VIOLATES  # what was seen is said all the same


def test_evidence_without_an_end_is_cut_off(violation: tuple[Path, Report], tmp_path: Path) -> None:
    folder = ended(tmp_path, violation[0], lambda lines: [*lines[:-2], lines[-2][:40]])
    report = analyse(read_evidence(folder))
    assert (report.exit_code, report.complete, report.stopped) == (130, False, CUT_OFF)


def test_an_engine_that_died_is_could_not_test_unless_a_violation_was_seen(
    violation: tuple[Path, Report], tmp_path: Path
) -> None:
    evidence = stopped(violation[0], tmp_path / "a", StopEntry(why="It died.", hint="look at it"))
    report = analyse(evidence)
    assert (report.exit_code, report.stopped) == (1, "It died. Try: look at it")
    with Recorder(tmp_path / "b") as recorder:
        recorder.append(read_evidence(violation[0]).entries[0])
        recorder.append(StopEntry(why="Nobody answers."))
    assert analyse(read_evidence(tmp_path / "b")).exit_code == 3


def test_a_check_that_an_engines_death_left_undecided_says_when_it_died(
    violation: tuple[Path, Report], tmp_path: Path
) -> None:
    entries = read_evidence(violation[0]).entries
    why = "The subject stopped answering at request 3 of stage LAW1.sample.0, at 12:00."
    first = next(i for i, one in enumerate(entries) if isinstance(one, AttemptEntry) and one.stage == "LAW1.sample.0")
    with Recorder(tmp_path) as recorder:
        for entry in (*entries[: first + 2], StopEntry(why=why, hint="resume")):
            recorder.append(entry)
    report = analyse(read_evidence(tmp_path))
    law = next(finding for finding in report.findings if finding.check == "LAW1")
    assert (report.exit_code, law.verdict, law.next_step) == (3, Verdict.INCONCLUSIVE, "resume")
    assert re.fullmatch(rf"Collecting ended after 2 of the \d+ requests planned so far\. {why}", law.summary)
    assert law.notes[-1].startswith("of the part that was collected: ")


def test_what_was_in_flight_when_another_arm_died_is_no_fault_of_its_server(
    violation: tuple[Path, Report], tmp_path: Path
) -> None:
    entries = read_evidence(violation[0]).entries
    first = next(i for i, one in enumerate(entries) if isinstance(one, AttemptEntry) and one.stage == "LAW1.sample.0")
    last = entries[first + 1]
    assert isinstance(last, AttemptEntry)
    given_up = Failure(reason="given up", message="Collecting ended.", lost=True)
    with Recorder(tmp_path) as recorder:
        for entry in (*entries[: first + 1], replace(last, response=None, failure=given_up), StopEntry(why="It died.")):
            recorder.append(entry)
    report = analyse(read_evidence(tmp_path))
    law = next(finding for finding in report.findings if finding.check == "LAW1")
    (told,) = (note for note in law.notes if "in flight" in note)
    assert re.fullmatch(r"1 of \d+ requests to the \w+ were in flight when collecting ended, and count as lost", told)
    assert not any("never gave an answer" in note for note in law.notes)
    assert report.scope.failures == {"the subject: given up, answer lost": 1}


def test_inconclusive_is_allowed_only_when_asked(tmp_path: Path) -> None:
    run_audit(small_audit(tmp_path, draft_tokens=0))
    evidence = read_evidence(tmp_path)
    assert analyse(evidence).exit_code == 4
    assert analyse(evidence, allow_inconclusive=True).exit_code == 0


def attempt(slot: int, number: int, *rows: tuple[int, ...]) -> AttemptEntry:
    """An attempt that was answered with these completions; without any it was lost."""
    return AttemptEntry(
        stage="T1",
        slot=slot,
        number=number,
        started="",
        seconds=0.0,
        response=Response(completions=tuple(Completion(tokens=row) for row in rows)) if rows else None,
        failure=None if rows else Failure(reason="timeout", message="late", lost=True),
    )


def test_tokens_requests_and_losses_are_totals_over_all_attempts() -> None:
    stage = made_stage([4])
    mixed = [stage.blocks[0][0], *made_stage([3], arm="reference").blocks[0]]
    stage = type(stage)(name="T1", blocks=(tuple(mixed),))
    entries: list[AnyEntry] = [
        PlanEntry(plan=made_plan(), digest=digest(made_plan())),
        StageEntry(stage=stage, digest=digest(stage)),
        attempt(0, 1),
        attempt(0, 2, (1, 2), (3,)),
        attempt(1, 1, (1, 2, 3, 4)),
        attempt(2, 1),
        SealEntry(records=6),
    ]
    report = analyse(Evidence(entries))
    assert report.tokens == {"subject": 3, "reference": 4}
    assert report.requests == {"subject": 2, "reference": 2}
    assert report.lost == 1


def test_each_check_has_its_share_of_the_error_budget_and_its_own_seed(
    violation: tuple[Path, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []

    def judge(self: object, settings: object, evidence: object, budget: Budget) -> Finding:
        budgets.append(budget)
        return Finding(check="X", verdict=Verdict.CONFORMS, required=False, summary="")

    for check in (PrefixEquality, EmittedLaw):
        monkeypatch.setattr(check, "judge", judge)
    for _ in range(2):
        analyse(read_evidence(violation[0]))
    assert {budget.alpha for budget in budgets} == {0.02 / 4}
    assert {budget.delta for budget in budgets} == {0.02}
    assert [budget.seed for budget in budgets[:2]] == [budget.seed for budget in budgets[2:]]
    assert len({budget.seed for budget in budgets}) == 2
