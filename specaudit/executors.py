"""Where independent tasks are carried out: here, in processes of this machine, or on a Dask cluster.

A task is a record that holds everything its function needs, the key of its random stream included. So its result does
not depend on where it is computed, or beside what, to the last bit.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Protocol, TypeVar

from specaudit.model.errors import CouldNotTest, UsageError

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 2
"""Processes unless another number is asked for."""

_CONNECT_TIMEOUT = 10.0

_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Executor(Protocol):
    """Carries out tasks."""

    @property
    def workers(self) -> int:
        """How many tasks are carried out at once."""
        ...

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the results as they come, in any order.

        Args:
            function: A function of a module, so that any process finds it.
            tasks: Pickled where they travel.

        Raises:
            CouldNotTest: the workers are gone.
        """
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class SerialExecutor:
    """Carries out one task after another in this process."""

    workers = 1

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the results in order."""
        return map(function, tasks)

    def close(self) -> None:
        """Nothing is held."""


class ProcessExecutor:
    """Carries out tasks in fresh processes of this machine, each with one thread.

    Args:
        workers: Number of processes.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self.workers = workers

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the results as they come."""
        with (
            _environment(_ONE_THREAD),
            ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"), initializer=_uninterrupted) as pool,
        ):
            futures = [pool.submit(function, task) for task in tasks]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BrokenProcessPool as error:
                raise CouldNotTest(
                    "A process that carried out tasks has died; perhaps there was too little memory.",
                    hint="Run it again, with fewer workers: --workers 1. What --out holds is not computed again",
                ) from error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Nothing is held: processes live as long as their tasks."""


class DaskExecutor:
    """Carries out tasks on a Dask cluster whose workers have this version of specaudit installed.

    What a worker had not finished when it died is computed anew by another.

    Args:
        address: Of the scheduler, e.g. `tcp://127.0.0.1:8786`.

    Raises:
        UsageError: the package `distributed` is not installed.
        CouldNotTest: no scheduler answers.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
            from distributed.comm.addressing import resolve_address
        except ImportError as error:
            raise UsageError(
                "A Dask scheduler needs the package 'distributed', which is not installed.",
                hint="pip install 'specdec-audit[dask]'",
            ) from error
        try:
            # A client of what is no address is left half made: it closes itself when it is collected, and waits for
            # ever for a lock of its class if that is while another one starts (distributed 2026.8).
            resolve_address(address)
            self._client = Client(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise CouldNotTest(
                f"No Dask scheduler answers at {address}.", hint="dask scheduler --host 127.0.0.1 --port 8786"
            ) from error

    @property
    def workers(self) -> int:
        """Workers that the cluster has at this moment."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the results as they come."""
        from distributed import KilledWorker, as_completed

        # Not pure: a result is not looked up among those of earlier runs, perhaps of other code.
        futures = self._client.map(function, tasks, pure=False)
        done = as_completed(futures, loop=self._client.loop, with_results=True)  # type: ignore[no-untyped-call]
        try:
            for _, result in done:
                yield result
        except (KilledWorker, CancelledError) as error:
            raise CouldNotTest(
                f"The Dask cluster does not carry out the tasks any more: {error}.",
                hint="Start its workers anew and run this again; what --out holds is not computed again",
            ) from error

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()  # type: ignore[no-untyped-call]


def executor(*, workers: int, scheduler: str | None) -> Executor:
    """Return where to carry out tasks: on the cluster if there is one, here if there is but one worker.

    Raises:
        UsageError: the package `distributed` is not installed.
        CouldNotTest: no scheduler answers.
    """
    if scheduler is not None:
        return DaskExecutor(scheduler)
    return SerialExecutor() if workers == 1 else ProcessExecutor(workers)


def _uninterrupted() -> None:
    """Leave it to the process that hands out tasks to end when the user interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that start meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
