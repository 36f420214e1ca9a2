"""`specaudit serve` in processes of their own."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_SECONDS = 60
_ADDRESS = re.compile(r"^serving .* at (http://127\.0\.0\.1:\d+/v1)$", re.MULTILINE)


@contextmanager
def serving(*servers: tuple[str, ...]) -> Iterator[list[str]]:
    """Servers with these options, started together; gives their endpoints.

    What they say goes to files: a pipe that nobody reads would fill up, and stop a server that says much.
    """
    command = [sys.executable, "-m", "specaudit", "serve", "--port", "0"]
    with ExitStack() as stack:
        said = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in servers]
        processes = []
        try:
            for options, file in zip(servers, said, strict=True):
                processes.append(subprocess.Popen([*command, *options], stderr=file))
            yield [_endpoint(process, file.fileno()) for process, file in zip(processes, said, strict=True)]
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(timeout=10)


def _endpoint(process: subprocess.Popen[bytes], said: int) -> str:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        text = os.pread(said, 100_000, 0).decode()
        if found := _ADDRESS.search(text):
            return found[1]
        assert process.poll() is None, text
        time.sleep(0.02)
    raise AssertionError(text)
