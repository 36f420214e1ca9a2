"""`specaudit completion`: the shells take what is printed, and words are completed."""

import os
import shutil
import subprocess
import sys

import pytest

from specaudit.cli.completion_command import SHELLS
from tests.cli.conftest import Specaudit


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_function(specaudit: Specaudit, shell: str) -> None:
    ran = specaudit("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "_SPECAUDIT_COMPLETE" in ran.out


def completed(*words: str) -> list[str]:
    environment = os.environ | {
        "_SPECAUDIT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("specaudit", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "specaudit"], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("comp",), {"compare", "completion"}),
        (("report", "x", "--for"), {"--format"}),
        (("report", "x", "--format", "vendor"), {"vendor-html", "vendor-markdown"}),
        (("list", "mut"), {"mutants"}),
    ],
)
def test_words_are_completed(words: tuple[str, ...], found: set[str]) -> None:
    assert set(completed(*words)) == found


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_it(specaudit: Specaudit) -> None:
    script = specaudit("completion", "bash").out
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_an_unknown_shell_is_a_usage_error(specaudit: Specaudit) -> None:
    assert specaudit("completion", "csh").code == 2
