"""A Dask cluster of this machine, for tests."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]


def started(*arguments, folder):
    """A process of the cluster; its own temporary files go to the test's folder."""
    environment = os.environ | {
        "PYTHONPATH": str(_ROOT),
        "DASK_TEMPORARY_DIRECTORY": str(folder),
        "TMPDIR": str(folder),
    }
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers on loopback: the scheduler's address, and the workers."""
    file = tmp_path / "scheduler.json"
    scheduler = started(
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
        folder=tmp_path,
    )
    processes = [scheduler]
    try:
        wait_for(file.exists)
        processes += [
            started(
                "distributed.cli.dask_worker",
                "--scheduler-file",
                str(file),
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                folder=tmp_path,
            )
            for _ in range(2)
        ]
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
