"""A task for executors, in a module that every process can import."""

import os
import time
from pathlib import Path

import numpy as np


def drawn(task):
    """Draw from the stream of a task's own key: numbers, and the process that drew them."""
    key, seconds = task
    time.sleep(seconds)
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(key,)))
    return key, rng.normal(size=5).tolist(), os.getpid()


def drawn_and_marked(task):
    """The same, leaving a file that says which process has begun."""
    key, seconds, folder = task
    Path(folder, f"{key}-{os.getpid()}").touch()
    return drawn((key, seconds))


def failing(task):
    raise ArithmeticError(f"task {task}")


def threads(task):
    return os.environ.get("OMP_NUM_THREADS")


def dying(task):
    os._exit(1)
