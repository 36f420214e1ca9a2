"""All methods, and the tasks in which their audits are carried out."""

from collections.abc import Mapping, Sequence

import numpy as np

from specaudit.calibrate.nulls import bounds, parts, tests_and_bets
from specaudit.calibrate.nulls.method import RULES, NullMethod
from specaudit.model.calibration import Alarms
from specaudit.model.record import Record

CHUNKS = 8

METHODS: Mapping[str, NullMethod] = {**tests_and_bets.METHODS, **bounds.METHODS, **parts.METHODS}


class AlarmTask(Record, frozen=True, kw_only=True, tag="alarms"):
    """A share of a method's audits, with a random stream of its own."""

    method: str
    level: float
    audits: int
    seed: int
    stream: int


def alarm_tasks(*, seed: int, levels: Sequence[float]) -> list[AlarmTask]:
    """Return all audits of all methods at those levels, in chunks."""
    places = [(level, name) for level in levels for name in METHODS]
    return [
        AlarmTask(
            method=name,
            level=level,
            audits=RULES[level][0] // CHUNKS,
            seed=seed,
            stream=number * CHUNKS + chunk,
        )
        for number, (level, name) in enumerate(places)
        for chunk in range(CHUNKS)
    ]


def alarms(task: AlarmTask) -> Alarms:
    """Carry out a share of a method's audits."""
    rng = np.random.default_rng(np.random.SeedSequence(task.seed, spawn_key=(task.stream,)))
    method = METHODS[task.method]
    p_values = np.array([method.audit(rng, task.level) for _ in range(task.audits)])
    kept = p_values if method.uniform and task.level == max(RULES) else p_values[:0]
    return Alarms(
        method=task.method,
        level=task.level,
        audits=task.audits,
        wrong=int((p_values <= task.level).sum()),
        p_values=tuple(float(f"{p:.6g}") for p in kept),
    )
