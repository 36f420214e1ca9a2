import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import stamina

from specaudit.cli.main import main
from specaudit.engines.pace import ATTEMPTS
from tests.cli.steady import Ran

COLOURS = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")

Specaudit = Callable[..., Ran]


@pytest.fixture(autouse=True)
def a_bare_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory, 80 columns, no settings from the environment, and no pause before asking again."""
    for name in os.environ:
        if name.startswith(("SPECAUDIT_", "OPENAI_", "GITHUB_")) or name in COLOURS:
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)
    with stamina.set_testing(True, attempts=ATTEMPTS - 1):
        yield tmp_path
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def specaudit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Specaudit:
    """The command line in this process: what it prints, and the exit code it ends with."""

    def call(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["specaudit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(arguments=tuple(map(str, arguments)), code=ended.value.code, out=said.out, err=said.err)

    return call
