"""Processes that run `specaudit`, forked from one that has imported everything, so that many can be started."""

import json
import select
import subprocess
import sys
from types import TracebackType
from typing import Self

_PROGRAM = """
import json, os, sys
import scipy.stats
import specaudit.audit.resume, specaudit.audit.suites, specaudit.cli.progress, specaudit.cli.run_command
import specaudit.cli.show, specaudit.engines.reference, specaudit.render.terminal
from specaudit.checks import registry
for check_id in registry.locations():
    registry.get(check_id)
from specaudit.cli.main import main
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        output = os.open(os.devnull, os.O_RDWR)
        os.dup2(output, 0), os.dup2(output, 1)
        sys.argv = ["specaudit", *json.loads(line)]
        main()
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Zygote:
    """Starts one command after the other."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-c", _PROGRAM]
        self._process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, *arguments: object) -> int:
        """Start a command and return its process id; `ended` must be called before the next."""
        self._in.write(json.dumps([str(word) for word in arguments]).encode() + b"\n")
        return int(self._out.readline())

    def has_ended(self) -> bool:
        """Say whether the command has ended."""
        return bool(select.select([self._out], [], [], 0)[0])

    def ended(self) -> int:
        """Wait for the command and return its exit code, or minus the signal that ended it."""
        return int(self._out.readline())
