"""A calibration gives the same figures however it is carried out, and goes on where it was broken off."""

import json

import pytest

from specaudit.calibrate import run
from specaudit.calibrate.matrix import KillTask
from specaudit.calibrate.nulls.method import RULES
from specaudit.calibrate.nulls.registry import METHODS, AlarmTask
from specaudit.calibrate.power import DivergenceTask, VerdictTask
from specaudit.calibrate.run import calibrate, carry_out, tasks
from specaudit.executors import ProcessExecutor, SerialExecutor
from specaudit.model.calibration import Alarms, Divergence, Kill, Verdicts
from specaudit.model.errors import UsageError

FEW = [
    KillTask(subject="mutant:resid-abs", check="LAW3", level="exact", settings={"max_tokens": 32}, seed=0),
    KillTask(subject="mutant:resid-abs", check="CTR4", level="any", settings={"prompts": 8}, seed=0),
    DivergenceTask(subject="mutant:resid-abs", tokens=20_000, seed=0),
    VerdictTask(subject="mutant:resid-abs", without="", audits=3, seed=0, stream=0),
    AlarmTask(method="bets on pairs", level=0.05, audits=20, seed=0, stream=0),
    AlarmTask(method="bets on pairs", level=0.05, audits=20, seed=0, stream=1),
]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(run, "tasks", lambda **_: FEW)


class Backwards:
    """Carries tasks out in the reverse order, as many as it is told; then it dies."""

    def __init__(self, most=99):
        self.most = most
        self.carried_out = []

    def map(self, function, pending):
        for task in reversed(pending):
            if len(self.carried_out) == self.most:
                raise KeyboardInterrupt
            self.carried_out.append(task[1])
            yield function(task)


@pytest.mark.parametrize("kind", [Kill, Divergence, Verdicts, Alarms])
def test_every_task_is_carried_out_by_its_kind(kind):
    assert any(isinstance(carry_out(("key", task))[1], kind) for task in FEW[1:])
    assert carry_out(("key", FEW[1]))[0] == "key"


def test_neither_order_nor_workers_change_the_figures(few):
    here = calibrate(SerialExecutor())
    assert calibrate(Backwards()) == here
    assert calibrate(ProcessExecutor(2)) == here
    assert [kill.check for kill in here.kills] == ["LAW3", "CTR4"]
    assert here.methods[0].audits == 40


def test_what_was_broken_off_goes_on_where_it_was(few, tmp_path):
    told = []
    with pytest.raises(KeyboardInterrupt):
        calibrate(Backwards(most=4), out=tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 6), (1, 6), (2, 6), (3, 6), (4, 6)]
    second, told = Backwards(), []
    found = calibrate(second, out=tmp_path, progress=lambda done, total: told.append((done, total)))
    assert second.carried_out == FEW[1::-1]
    assert told == [(4, 6), (5, 6), (6, 6)]
    assert found == calibrate(SerialExecutor())
    third = Backwards()
    assert calibrate(third, out=tmp_path) == found
    assert third.carried_out == []
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 6


def test_results_are_kept_as_json_lines(few, tmp_path):
    calibrate(SerialExecutor(), out=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["result"]["type"] for line in lines] == ["kill", "kill", "divergence", "verdicts", "alarms", "alarms"]


def test_everything_is_planned_and_the_quick_one_is_smaller():
    whole, quick = tasks(quick=False, seed=0), tasks(quick=True, seed=0)
    for planned in (whole, quick):
        assert {type(task) for task in planned} == {KillTask, AlarmTask, DivergenceTask, VerdictTask}
        alarms = [task for task in planned if isinstance(task, AlarmTask) and task.level == 0.05]
        assert sum(task.audits for task in alarms) == RULES[0.05][0] * len(METHODS)
        timed = {task.subject for task in planned if isinstance(task, VerdictTask)}
        assert timed <= {task.subject for task in planned if isinstance(task, DivergenceTask)}
    assert len(quick) < len(whole)
    assert {task.level for task in whole if isinstance(task, AlarmTask)} == set(RULES)
    assert tasks(quick=True, seed=1) != quick


def test_chosen_mutants_are_all_that_is_looked_at():
    planned = tasks(quick=True, seed=0, mutants=("lenience:0.9",))
    assert {task.subject for task in planned} == {"mutant:lenience:0.9", "reference:lenience"}


def test_a_mutant_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="did you mean resid-abs"):
        calibrate(SerialExecutor(), mutants=("resid-bas",))
