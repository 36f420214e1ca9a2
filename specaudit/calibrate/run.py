"""Calibrate: carry out all tasks, keep their results, and conclude."""

from collections.abc import Callable
from pathlib import Path

from specaudit.calibrate.matrix import KillTask, kill, kill_tasks
from specaudit.calibrate.nulls.registry import AlarmTask, alarm_tasks, alarms
from specaudit.calibrate.power import (
    DICTIONARY,
    DivergenceTask,
    VerdictTask,
    divergence,
    divergence_tasks,
    verdict_tasks,
    verdicts,
)
from specaudit.calibrate.store import Store, key_of
from specaudit.calibrate.subjects import chosen
from specaudit.calibrate.summary import summarise
from specaudit.executors import Executor
from specaudit.model.calibration import Calibration, Result

Task = KillTask | AlarmTask | DivergenceTask | VerdictTask

Progress = Callable[[int, int], None]
"""Called with the number of tasks that are done, and of all."""

_SIZES = {True: (60_000, 9, (0.05,)), False: (1_000_000, 101, (0.05, 1e-3))}
"""By whether it has to be quick: tokens from which a divergence is measured, audits behind a median, and the levels at
which methods are judged."""


def tasks(*, quick: bool, seed: int, mutants: tuple[str, ...] = ()) -> list[Task]:
    """Return everything that is to be computed; of some mutants, if they are named, else of all and of all methods.

    Raises:
        UsageError: there is no such mutant; the message names the nearest.
    """
    subjects, (tokens, audits, levels) = chosen(mutants), _SIZES[quick]
    matrix: list[Task] = [*kill_tasks(subjects, quick=quick, seed=seed)]
    if mutants:
        return [*matrix, *divergence_tasks(subjects, tokens=tokens, seed=seed)]
    measured = list(dict.fromkeys([*subjects, *DICTIONARY]))
    return [
        *matrix,
        *alarm_tasks(seed=seed, levels=levels),
        *divergence_tasks(measured, tokens=tokens, seed=seed),
        *verdict_tasks(audits=audits, seed=seed),
    ]


def calibrate(
    executor: Executor,
    *,
    quick: bool = False,
    seed: int = 0,
    mutants: tuple[str, ...] = (),
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Calibration:
    """Calibrate the tool; the figures are the same whoever carries out the tasks, and in whatever order.

    Args:
        executor: Carries them out.
        quick: Less of everything, in two minutes instead of an hour.
        seed: Of everything that is random.
        mutants: The mutants of the kill matrix; without any, all of them, all controls and all methods.
        out: Folder in which results are kept as they come, and found again; None keeps nothing.
        progress: Told what is done.

    Raises:
        UsageError: there is no such mutant; the message names the nearest.
        CouldNotTest: the workers are gone; what was kept is found again.
    """
    subjects = chosen(mutants)
    planned, store = tasks(quick=quick, seed=seed, mutants=mutants), Store(out)
    keys = [key_of(task) for task in planned]
    results = {key: known for key in keys if (known := store.get(key)) is not None}
    pending = [(key, task) for key, task in zip(keys, planned, strict=True) if key not in results]
    progress(len(results), len(keys))
    for key, result in executor.map(carry_out, pending):
        store.put(key, result)
        results[key] = result
        progress(len(results), len(keys))
    return summarise([results[key] for key in keys], seed=seed, quick=quick, subjects=subjects)


def carry_out(pending: tuple[str, Task]) -> tuple[str, Result]:
    """Carry out one task, wherever this is called, and hand its key back with the result."""
    key, task = pending
    match task:
        case KillTask():
            return key, kill(task)
        case AlarmTask():
            return key, alarms(task)
        case DivergenceTask():
            return key, divergence(task)
        case VerdictTask():
            return key, verdicts(task)
