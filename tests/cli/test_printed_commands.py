"""Every command that a report prints runs as it stands, and says what it was printed for."""

import shlex
import shutil
from pathlib import Path

from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit


def test_the_commands_of_a_violation_run_as_they_are_printed(specaudit: Specaudit, tmp_path: Path) -> None:
    shutil.copy(SMALL, tmp_path / "small.toml")
    ran = specaudit("run", "-q", "--suite", "small.toml", "--engine", "mutant:resid-from-target", "--select", "LAW1")
    printed = [line[line.index("specaudit ") :] for line in ran.out.splitlines() if "specaudit " in line]
    commands = [shlex.split(line)[1:] for line in printed]
    assert ran.code == 1
    assert [words[0] for words in commands] == ["run", "analyze"]
    again, judged = (specaudit(*words) for words in commands)
    assert (again.code, judged.code) == (1, 1)
    assert "suite small: LAW1 found a deviation." in again.out
    assert "suite small: LAW1 found a deviation." in judged.out
