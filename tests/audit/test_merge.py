"""Shards of one plan, merged: the evidence of one machine."""

import shutil
from pathlib import Path

import pytest

from specaudit.audit.analyse import analyse
from specaudit.audit.merge import merge
from specaudit.audit.record import read_evidence
from specaudit.audit.resume import Resume, resume_audit
from specaudit.audit.run import run_audit
from specaudit.audit.shards import Shard
from specaudit.model.errors import UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.report import EXIT_INCONCLUSIVE, Report
from tests.audit.small import small_audit

CHECKS = ("GRD1", "LAW1")


def shards(folder: Path, of: int, **options: object) -> list[Path]:
    """What every shard collects of the first stage."""
    folders = [folder / f"shard{number}" for number in range(1, of + 1)]
    for number, out in enumerate(folders, start=1):
        run_audit(small_audit(out, shard=Shard(number, of), select=CHECKS, **options))
    return folders


def answered(evidence: Evidence) -> dict[tuple[str, int], object]:
    """The tokens of every answer; by which path they came depends on what else was in the batch."""
    return {
        (attempt.stage, attempt.slot): [completion.tokens for completion in attempt.response.completions]
        for attempt in evidence.attempts()
        if attempt.response is not None
    }


def findings(report: Report) -> list[tuple[object, ...]]:
    """What was found, but for what counters show of it: they are not read where several ask."""
    return [(one.check, one.effect, one.statistic, one.betting, one.witness) for one in report.findings]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    folder = tmp_path_factory.mktemp("whole")
    run_audit(small_audit(folder, select=CHECKS))
    return read_evidence(folder)


def test_merged_stage_by_stage_two_shards_are_one_audit(tmp_path, whole):
    parts = shards(tmp_path, 2)
    for turn in range(20):
        merged = tmp_path / f"merged{turn}"
        evidence = merge(parts, merged)
        if evidence.sealed:
            break
        parts = [tmp_path / f"turn{turn}shard{number}" for number in (1, 2)]
        for number, folder in enumerate(parts, start=1):
            shutil.copytree(merged, folder)
            resume_audit(Resume(folder=folder, shard=Shard(number, 2)))
    assert evidence.sealed
    assert evidence.stages == whole.stages
    assert len(evidence.stages) > 2
    assert answered(evidence) == answered(whole)
    assert findings(analyse(read_evidence(merged))) == findings(analyse(whole))


def test_what_is_merged_is_gone_on_with_by_one_machine(tmp_path, whole):
    merged = tmp_path / "merged"
    assert not merge(shards(tmp_path, 3), merged).sealed
    report = resume_audit(Resume(folder=merged))
    assert findings(report) == findings(analyse(whole))


def test_a_shard_by_itself_decides_nothing(tmp_path):
    (one, _) = shards(tmp_path, 2)
    report = analyse(read_evidence(one))
    assert report.exit_code == EXIT_INCONCLUSIVE
    assert {finding.verdict for finding in report.findings} == {Verdict.INCONCLUSIVE}
    assert "Shard 1/2 has asked its part of stage GRD1" in (report.stopped or "")


def test_counters_are_the_first_shards(tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for number, out in enumerate(folders, start=1):
        run_audit(small_audit(out, shard=Shard(number, 2), select=("CTR1",)))
    first, second = map(read_evidence, folders)
    (stage,) = first.stages
    assert len(first.snapshots(stage)) == 21
    assert second.attempts() == [] == list(second.snapshots(stage))
    merged = merge(folders, tmp_path / "merged")
    assert merged.snapshots(stage).keys() == first.snapshots(stage).keys()
    assert merged.sealed
    assert analyse(merged).findings[0].verdict is Verdict.CONFORMS


def test_a_part_that_is_missing_is_left_to_ask(tmp_path):
    first, second, _ = shards(tmp_path, 3)
    evidence = merge([first, second], tmp_path / "merged")
    assert evidence.stop is not None
    assert "GRD1 (16 of the 24 requests planned so far)" in evidence.stop.why


def test_the_same_shard_twice_overlaps(tmp_path):
    first, _ = shards(tmp_path, 2)
    again = tmp_path / "again"
    run_audit(small_audit(again, shard=Shard(1, 2), select=CHECKS))
    with pytest.raises(UsageError, match=r"overlap: both hold request 1 of stage GRD1"):
        merge([first, again], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_another_plan_is_refused(tmp_path):
    first, _ = shards(tmp_path, 2)
    other = tmp_path / "other"
    run_audit(small_audit(other, shard=Shard(2, 2), select=CHECKS, seed=1))
    with pytest.raises(UsageError, match="not of the same plan: its seed is 1 and not 0"):
        merge([first, other], tmp_path / "merged")


def test_a_suite_may_lie_elsewhere_on_every_machine(tmp_path):
    parts = {"one": "small.toml", "two": "/srv/suites/ours.toml"}
    for number, (part, file) in enumerate(parts.items(), start=1):
        run_audit(small_audit(tmp_path / part, shard=Shard(number, 2), select=CHECKS, suite_file=file))
    merged = merge([tmp_path / part for part in parts], tmp_path / "merged")
    assert merged.plan.suite_file == "small.toml"


def test_another_engine_is_refused(tmp_path):
    first, _ = shards(tmp_path, 2)
    other = tmp_path / "other"
    run_audit(small_audit(other, shard=Shard(2, 2), select=CHECKS, engine="mutant:resid-abs"))
    with pytest.raises(UsageError, match="not of the same plan: its arms"):
        merge([first, other], tmp_path / "merged")


def test_one_part_is_nothing_to_merge(tmp_path):
    first, _ = shards(tmp_path, 2)
    with pytest.raises(UsageError, match="two shards or more"):
        merge([first], tmp_path / "merged")
    with pytest.raises(UsageError, match="two shards or more"):
        merge([first, first], tmp_path / "merged")


def test_evidence_is_not_written_over(tmp_path):
    parts = shards(tmp_path, 2)
    with pytest.raises(UsageError, match="already holds evidence"):
        merge(parts, parts[0])
