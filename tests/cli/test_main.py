import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.cli import main as module
from specaudit.cli.main import COMMANDS, load
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A shell command with `specaudit` in it, as it is installed."""
    program = f'specaudit() {{ "{sys.executable}" -m specaudit "$@"; }}; set -o pipefail; {script}'
    return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS), [], ["-h"]])
def test_help(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: list[str]) -> None:
    assert steady(specaudit(*arguments)) == snapshot


@pytest.mark.parametrize("arguments", [["rn"], ["frobnicate"], ["--vresion"], ["list"], ["explain", "LAW1", "more"]])
def test_a_wrong_command_line(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: list[str]) -> None:
    assert steady(specaudit(*arguments)) == snapshot


def test_version(specaudit: Specaudit) -> None:
    ran = specaudit("--version")
    assert ran.code == 0
    assert ran.out.startswith("specaudit, version ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_name_of_its_file(name: str) -> None:
    assert load(name).name == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    options = [option for option in load(name).params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


HELP = """
import json, sys
import specaudit.cli.main
try:
    specaudit.cli.main.main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", HELP, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    loaded = {name.split(".")[0] for name in json.loads(done.stderr)}
    heavy = {"numpy", "scipy", "rich", "aiohttp", "msgspec", "prometheus_client", "starlette", "uvicorn"}
    assert loaded.isdisjoint(heavy)


def test_a_fault_of_our_own_is_an_internal_error(specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(name: str) -> click.Command:
        raise ZeroDivisionError("by nought\x1b[31m")

    monkeypatch.setattr(module, "load", crash)
    ran = specaudit("list", "checks")
    assert ran.code == 70
    assert ran.out == ""
    assert "Traceback" in ran.err
    assert "specaudit: An error of specaudit itself: ZeroDivisionError('by nought\\x1b[31m')." in ran.err


def test_a_reader_that_goes_away_is_no_violation(tmp_path: Path) -> None:
    done = shell("specaudit list checks | head -0; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout == "141\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_takes_nothing_is_an_internal_error(tmp_path: Path) -> None:
    done = shell("specaudit list checks > /dev/full", tmp_path)
    assert done.returncode == 70
    assert done.stderr == "specaudit: The operating system refuses: [Errno 28] No space left on device.\n"


def test_closed_streams_change_no_exit_code(tmp_path: Path) -> None:
    assert shell("specaudit list checks >&-", tmp_path).returncode == 0
    assert shell("specaudit list checks 2>&-", tmp_path).returncode == 0
    assert shell("specaudit list chekcs 2>&-", tmp_path).returncode == 2
