"""Null audits: their shares are wrong as often as they should be, and the naive method more often."""

import numpy as np
import pytest

from specaudit.calibrate.nulls.bounds import at_the_tolerance
from specaudit.calibrate.nulls.method import BINS, RULES, TOLERANCE
from specaudit.calibrate.nulls.registry import CHUNKS, METHODS, AlarmTask, alarm_tasks, alarms

MOST_OF_240 = 28
"""At .05 twelve are expected; more than so many have a probability below 3e-5 for each of the methods."""

NAIVE = "chi-square looked at again and again"


def judged(method, *, level=0.05, audits=240):
    return alarms(AlarmTask(method=method, level=level, audits=audits, seed=0, stream=1))


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if not one.negative_control])
def test_methods_are_not_wrong_too_often(method):
    found = judged(method)
    assert (found.method, found.level, found.audits) == (method, 0.05, 240)
    assert found.wrong <= MOST_OF_240
    assert judged(method, level=1e-3, audits=30).wrong <= 1


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.uniform])
def test_randomised_p_values_are_kept_and_reach_small_and_large_values(method):
    found = judged(method)
    assert len(found.p_values) == 240
    assert sum(p <= 0.05 for p in found.p_values) == found.wrong
    assert 0.4 < np.mean(found.p_values) < 0.6
    assert max(found.p_values) > 0.9
    assert judged(method, level=1e-3, audits=2).p_values == ()


def test_the_naive_method_is_wrong_far_too_often():
    assert METHODS[NAIVE].negative_control
    assert judged(NAIVE).wrong > 0.15 * 240
    assert judged(NAIVE, level=1e-3, audits=2000).wrong > 10
    assert judged(NAIVE).p_values == ()


@pytest.mark.parametrize("spread", [False, True])
def test_subjects_at_the_tolerance_are_exactly_there(spread):
    law = at_the_tolerance(spread)
    assert law.sum() == pytest.approx(1)
    assert law.min() > 0
    assert abs(law - BINS).sum() / 2 == pytest.approx(TOLERANCE)


@pytest.mark.parametrize("levels", [(0.05,), (0.05, 1e-3)])
def test_tasks_share_the_audits_and_no_stream(levels):
    tasks = alarm_tasks(seed=0, levels=levels)
    assert len({task.stream for task in tasks}) == len(tasks) == CHUNKS * len(METHODS) * len(levels)
    for level in levels:
        for name in METHODS:
            mine = [task.audits for task in tasks if (task.method, task.level) == (name, level)]
            assert sum(mine) == RULES[level][0]


def test_the_same_task_gives_the_same_p_values_and_another_stream_others():
    method = "chi-square of two arms"
    one, other = (AlarmTask(method=method, level=0.05, audits=5, seed=1, stream=stream) for stream in (2, 3))
    assert alarms(one) == alarms(one)
    assert alarms(one) != alarms(other)
