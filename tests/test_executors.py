"""The same numbers wherever tasks are carried out, and nothing lost when a worker dies."""

import gc
import os
import signal
import sys
from contextlib import closing

import pytest

from specaudit.executors import DaskExecutor, ProcessExecutor, SerialExecutor, executor
from specaudit.model.errors import CouldNotTest, UsageError
from tests.calibrate import draws
from tests.dask_cluster import cluster, wait_for

__all__ = ["cluster"]

TASKS = [(key, 0.0) for key in range(6)]


def numbers(results):
    return {key: drawn for key, drawn, _ in results}


EXPECTED = numbers(SerialExecutor().map(draws.drawn, TASKS))


def test_one_task_after_another_here():
    results = list(SerialExecutor().map(draws.drawn, TASKS))
    assert [key for key, _, _ in results] == list(range(6))
    assert {process for _, _, process in results} == {os.getpid()}
    assert len({tuple(drawn) for drawn in EXPECTED.values()}) == 6


def test_processes_draw_the_same_numbers():
    results = list(ProcessExecutor(2).map(draws.drawn, [(key, 0.2) for key in range(6)]))
    assert numbers(results) == EXPECTED
    processes = {process for _, _, process in results}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_processes_have_one_thread_each_and_leave_the_environment_alone(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert list(ProcessExecutor(1).map(draws.threads, [0])) == ["1"]
    assert "OMP_NUM_THREADS" not in os.environ


def test_what_a_task_raises_ends_the_run():
    with pytest.raises(ArithmeticError, match="task 3"):
        list(ProcessExecutor(1).map(draws.failing, [3, 4]))


def test_a_process_that_dies_is_told():
    with pytest.raises(CouldNotTest, match="has died") as caught:
        list(ProcessExecutor(1).map(draws.dying, [0]))
    assert "--workers 1" in caught.value.hint


def test_which_executor_is_meant():
    assert isinstance(executor(workers=1, scheduler=None), SerialExecutor)
    assert isinstance(executor(workers=3, scheduler=None), ProcessExecutor)


def test_without_distributed_a_scheduler_is_a_usage_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        executor(workers=2, scheduler="tcp://127.0.0.1:1")
    assert "specdec-audit[dask]" in caught.value.hint


@pytest.mark.parametrize("address", ["nonsense://127.0.0.1:1", "not an address"])
def test_no_scheduler_is_an_error_for_the_user(address):
    with pytest.raises(CouldNotTest, match="No Dask scheduler answers at"):
        DaskExecutor(address)


def test_a_client_that_found_no_scheduler_is_gone():
    """One that is left closes itself when it is collected, and hung the start of the next one there."""
    from distributed import Client

    gc.disable()
    try:
        with pytest.raises(CouldNotTest) as caught:
            DaskExecutor("nonsense://127.0.0.1:1")
        assert caught.value.__cause__ is not None
        assert not any(isinstance(one, Client) for one in gc.get_objects())
    finally:
        gc.enable()


def test_a_worker_that_is_killed_loses_nothing(cluster, tmp_path):
    address, workers = cluster
    begun = tmp_path / "begun"
    begun.mkdir()
    tasks = [(key, 0.4, str(begun)) for key in range(12)]
    with closing(DaskExecutor(address)) as cluster_executor:
        _kill_a_worker_at_work(cluster_executor.map(draws.drawn_and_marked, tasks), workers, begun)


def _kill_a_worker_at_work(results, workers, begun):
    first = next(results)

    def both_at_work():
        return len({path.name.split("-")[1] for path in begun.iterdir()}) == 2

    wait_for(both_at_work)
    victim = next(worker for worker in workers if worker.pid != first[2])
    victim.send_signal(signal.SIGKILL)
    everything = [first, *results]
    assert sorted(key for key, _, _ in everything) == list(range(12))
    assert numbers(everything) == numbers(SerialExecutor().map(draws.drawn, [(key, 0.0) for key in range(12)]))
    assert victim.wait(timeout=10) == -signal.SIGKILL
