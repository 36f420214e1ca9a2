"""`specaudit calibrate` from the command line."""

import json

import pytest
from click.testing import CliRunner

from specaudit.calibrate import run
from specaudit.calibrate.matrix import KillTask
from specaudit.cli import main
from specaudit.cli.calibrate_command import command
from specaudit.model.errors import SpecauditError, UsageError

KILLED = KillTask(subject="mutant:rejected-tokens-billed", check="CTR4", level="any", settings={"prompts": 8}, seed=0)
SPARED = KillTask(subject="mutant:resid-abs", check="CTR4", level="any", settings={"prompts": 8}, seed=0)


def invoke(*arguments):
    return CliRunner().invoke(command, ["--workers", "1", *arguments])


@pytest.fixture
def planned(monkeypatch):
    """What is to be computed, in place of everything."""
    asked = []

    def tasks(**options):
        asked.append(options)
        return chosen

    chosen = [KILLED]
    monkeypatch.setattr(run, "tasks", tasks)
    monkeypatch.setattr(run, "chosen", lambda names: [])
    return chosen, asked


def test_a_calibration_that_is_as_it_should_be_ends_with_0(planned):
    result = invoke("--quick", "--seed", "3", "--mutant", "rejected-tokens-billed")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("CALIBRATED  specaudit ")
    assert "1 of 1 mutants were killed." in result.stdout
    assert planned[1][-1] == {"quick": True, "seed": 3, "mutants": ("rejected-tokens-billed",)}


def test_one_that_is_not_ends_with_1(planned):
    planned[0].append(SPARED)
    result = invoke()
    assert result.exit_code == 1
    assert "mutant:resid-abs survives; no check killed it." in result.stdout


def test_json_on_stdout_and_files_in_the_folder(planned, tmp_path):
    result = invoke("--json", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert json.loads(result.stdout)["kills"][0]["verdict"] == "violates"
    assert (tmp_path / "out" / "calibration.json").read_text() == result.stdout
    assert (tmp_path / "out" / "calibration.html").read_text().startswith("<!doctype html>")


def test_what_is_kept_is_not_computed_again(planned, tmp_path, monkeypatch):
    first = invoke("--out", str(tmp_path))
    monkeypatch.setattr(run, "kill", lambda task: pytest.fail("computed again"))
    assert invoke("--out", str(tmp_path)).stdout == first.stdout


def test_an_unknown_mutant_is_a_usage_error_with_the_nearest():
    result = invoke("--mutant", "resid-abz")
    assert isinstance(result.exception, UsageError)
    assert result.exception.exit_code == 2
    assert "did you mean resid-abs" in result.exception.message


@pytest.mark.parametrize("arguments", [["--workers", "0"], ["--seed", "-1"], ["--mutants", "x"]])
def test_bad_options_end_with_2(arguments):
    assert invoke(*arguments).exit_code == 2


def test_a_folder_that_cannot_be_written_is_told(planned, tmp_path):
    (tmp_path / "file").touch()
    result = invoke("--out", str(tmp_path / "file" / "folder"))
    assert isinstance(result.exception, SpecauditError)
    assert "Results cannot be kept" in result.exception.message


def test_the_command_is_listed_and_found():
    assert "calibrate" in main.COMMANDS
    assert main.load("calibrate") is command
