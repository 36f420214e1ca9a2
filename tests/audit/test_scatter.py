"""An audit whose requests are asked on a cluster: the same evidence, wherever it was collected."""

import pytest

from specaudit.audit import run as running
from specaudit.audit.audit import Audit
from specaudit.audit.record import FILE_NAME, read_evidence
from specaudit.audit.run import run_audit
from specaudit.audit.scatter import Part, ask
from specaudit.audit.shards import Shard
from specaudit.executors import SerialExecutor
from specaudit.model.entries import AttemptEntry, StopEntry
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.finding import Verdict
from specaudit.model.limits import Limits
from tests.audit.small import made_plan, made_stage, small_audit
from tests.audit.test_merge import CHECKS, answered, findings
from tests.dask_cluster import cluster

__all__ = ["cluster"]


class ThreeWorkers(SerialExecutor):
    """A cluster in this process."""

    workers = 3

    def __init__(self, address: str) -> None:
        assert address == "tcp://cluster"


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr(running, "DaskExecutor", ThreeWorkers)


def test_three_workers_collect_what_one_machine_does(tmp_path, in_process):
    alone = run_audit(small_audit(tmp_path / "alone", select=CHECKS))
    report = run_audit(small_audit(tmp_path / "cluster", select=CHECKS, scheduler="tcp://cluster"))
    ours, theirs = read_evidence(tmp_path / "cluster"), read_evidence(tmp_path / "alone")
    assert ours.sealed
    assert ours.stages == theirs.stages
    assert answered(ours) == answered(theirs)
    assert findings(report) == findings(alone)


def test_counters_are_read_by_one_worker(tmp_path, in_process):
    report = run_audit(small_audit(tmp_path / "cluster", select=("CTR1",), scheduler="tcp://cluster"))
    assert report.findings[0].verdict is Verdict.CONFORMS


def test_a_real_cluster_gives_the_same(tmp_path, cluster):
    address, _ = cluster
    run_audit(small_audit(tmp_path / "alone", select=("GRD1",)))
    report = run_audit(small_audit(tmp_path / "cluster", select=("GRD1",), scheduler=address))
    assert answered(read_evidence(tmp_path / "cluster")) == answered(read_evidence(tmp_path / "alone"))
    assert report.requests == {"subject": 12, "reference": 12}


def test_keys_do_not_travel(tmp_path, in_process, monkeypatch):
    parts: list[Part] = []
    monkeypatch.setattr("specaudit.audit.scatter.ask", lambda part: parts.append(part) or [])
    audit = small_audit(tmp_path / "out", select=("GRD1",), scheduler="tcp://cluster", api_key="secret-key")
    run_audit(audit)
    assert len(parts) == 3
    assert "secret-key" not in str([vars(part.audit) for part in parts])
    assert "secret-key" not in (tmp_path / "out" / FILE_NAME).read_text()


def test_a_worker_that_cannot_go_on_says_why(tmp_path, in_process, monkeypatch):
    def ask_or_stop(part: Part):
        if part.shard.number == 2:
            return [StopEntry(why="Shard 2/3: No server answers.", hint="Start it")]
        return ask(part)

    monkeypatch.setattr("specaudit.audit.scatter.ask", ask_or_stop)
    report = run_audit(small_audit(tmp_path / "out", select=("GRD1",), scheduler="tcp://cluster"))
    assert report.exit_code == 3
    assert report.stopped is not None
    assert report.stopped.startswith("Shard 2/3: No server answers.")
    assert len(read_evidence(tmp_path / "out").attempts()) == 16


def test_what_goes_wrong_on_a_worker_comes_back_as_an_entry(tmp_path):
    plan = made_plan()
    (stop,) = ask(
        Part(
            audit=Audit(suite=plan.suite, out=tmp_path),
            plan=made_plan(arms=(plan.arms[0].__class__(role="subject", engine="mutant:none"),)),
            stage=made_stage([2]),
            shard=Shard(1, 2),
            before=(),
        )
    )
    assert isinstance(stop, StopEntry)
    assert stop.why.startswith("Shard 1/2: ")


def test_what_was_asked_before_is_not_asked_again(tmp_path, in_process):
    run_audit(small_audit(tmp_path / "out", select=("GRD1",), shard=Shard(1, 2)))
    before = read_evidence(tmp_path / "out")
    (stage,) = before.stages.values()
    entries = ask(
        Part(
            audit=small_audit(tmp_path / "out"),
            plan=before.plan,
            stage=stage,
            shard=Shard(1, 1),
            before=tuple(entry for entry in before.entries[1:] if not isinstance(entry, StopEntry)),
        )
    )
    asked = [entry.slot for entry in entries if isinstance(entry, AttemptEntry)]
    assert sorted(asked) == sorted(set(range(24)) - Shard(1, 2).slots(stage))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shard": Shard(1, 2)}, "--shard"),
        ({"headers": {"X-A": "b"}}, "--header"),
        ({"limits": Limits(max_requests=10)}, "limits"),
    ],
)
def test_what_a_cluster_cannot_keep_is_refused(tmp_path, options, said):
    with pytest.raises(UsageError, match=f"--scheduler cannot be combined with {said}"):
        run_audit(small_audit(tmp_path / "out", scheduler="tcp://cluster", **options))
    assert not (tmp_path / "out").exists()


def test_no_cluster_is_told_before_anything_is_written(tmp_path):
    with pytest.raises((CouldNotTest, UsageError)):
        run_audit(small_audit(tmp_path / "out", scheduler="nonsense://127.0.0.1:1"))
    assert not (tmp_path / "out").exists()
