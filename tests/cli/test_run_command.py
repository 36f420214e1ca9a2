import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.audit import Audit
from specaudit.audit.record import FILE_NAME, read_evidence
from specaudit.cli import show as showing
from specaudit.model.entries import SealEntry
from specaudit.model.report import Report
from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady

GRD1 = ("run", "--suite", SMALL, "--select", "GRD1")
MUTANTS = ("bonus-in-numerator", "draft0-unverified", "resid-from-target", "reuse-uniform")


def test_the_embedded_decoder(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit("run", "--suite", SMALL, "--out", "out")
    assert ran.code == 0
    assert steady(ran, figures=False) == snapshot


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant(specaudit: Specaudit, snapshot: SnapshotAssertion, name: str) -> None:
    ran = specaudit("run", "--suite", SMALL, "--engine", f"mutant:{name}", "--out", "out", "-q")
    assert ran.code == 1
    assert ran.err == ""
    assert steady(ran, figures=False) == snapshot


def test_plain_decoding(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(*GRD1, "--draft-tokens", 0, "--out", "out")
    assert steady(ran, figures=False) == snapshot
    allowed = specaudit(*GRD1, "--draft-tokens", 0, "--out", "allowed", "--allow-inconclusive")
    assert steady(allowed, figures=False) == snapshot


def test_json_is_the_report_and_nothing_else(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(*GRD1, "--json", "--out", "out")
    assert ran.code == json.loads(ran.out)["exit_code"] == 0
    assert ran.out == Path("out", "report.json").read_text()
    assert steady(ran, figures=False) == snapshot


def test_verbose(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    assert steady(specaudit(*GRD1, "-qv", "--out", "out"), figures=False) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ["--sute", "quick"],
        ["--suite", "quikc"],
        ["--suite", "mine.toml"],
        ["--suite", "gone.toml"],
        ["--select", "LWA1"],
        ["--select", "GRD", "--ignore", "GRD1"],
        ["--select", " , "],
        ["--engine", "mutant:resid-from-targte"],
        ["--engine", "refrence"],
        ["--reference", "http://127.0.0.1:8000/v1"],
        ["--metrics", "http://127.0.0.1:8000/metrics"],
        ["--endpoint", "127.0.0.1:8000/v1"],
        ["--endpoint", "http://127.0.0.1:8000/v1", "--reference", "http://127.0.0.1:8000/v1"],
        ["--endpoint", "http://127.0.0.1:8000/v1", "--engine", "mutant:reuse-uniform"],
        ["--alpha", "0.7"],
        ["--alpha", "much"],
        ["--draft-tokens", "-1"],
        ["--concurrency", "0"],
        ["--seed", "-1"],
        ["--out", "mine.toml"],
        ["more"],
    ],
    ids=" ".join,
)
def test_a_usage_error_is_a_sentence_and_a_command_and_leaves_nothing_behind(
    specaudit: Specaudit, snapshot: SnapshotAssertion, tmp_path: Path, arguments: list[str]
) -> None:
    Path("mine.toml").write_text('name = "mine"\ntitle = ""\nalpah = 0.1\n[checks.LAW1]\n')
    ran = specaudit("run", *arguments)
    assert ran.code == (3 if "--ignore" in arguments or " , " in arguments else 2)
    assert steady(ran) == snapshot
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_nobody_at_the_endpoint(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit("run", "--endpoint", "http://127.0.0.1:9999/v1", "--out", "out", "-q")
    assert ran.code == 3
    assert steady(ran) == snapshot


def test_without_out_every_run_has_a_folder_of_its_own(specaudit: Specaudit) -> None:
    for _ in range(2):
        assert specaudit(*GRD1, "-q").code == 0
    folders = list(Path("specaudit-runs").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert folder.name.split("-")[1] == "small"
        assert sorted(path.name for path in folder.iterdir()) == [FILE_NAME, "report.json"]


def test_evidence_is_never_written_over(specaudit: Specaudit) -> None:
    assert specaudit(*GRD1, "-q", "--out", "out").code == 0
    ran = specaudit(*GRD1, "-q", "--out", "out")
    assert ran.code == 2
    assert "already holds evidence" in ran.err


def test_an_option_reaches_the_plan(specaudit: Specaudit) -> None:
    ran = specaudit(
        "run",
        *("--suite", SMALL, "--select", "grd, ctr1", "--ignore", "CTR1", "--alpha", "0.1", "--seed", "7"),
        *("--concurrency", "3", "--draft-tokens", "2", "--engine", "mutant:reuse-uniform", "--out", "out", "-q"),
    )
    assert ran.code == 0
    plan = read_evidence(Path("out")).plan
    assert (plan.checks, plan.alpha, plan.seed, plan.concurrency) == (("GRD1",), 0.1, 7, 3)
    assert (plan.arms[0].engine, plan.arms[0].draft_tokens) == ("mutant:reuse-uniform", 2)


@pytest.mark.parametrize(
    ("environment", "key"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "sk-o\n"}, "sk-o"),
        ({"OPENAI_API_KEY": "sk-o", "SPECAUDIT_API_KEY": "sk-s"}, "sk-s"),
        ({"OPENAI_API_KEY": "sk-o", "SPECAUDIT_API_KEY": " "}, "sk-o"),
    ],
)
def test_where_the_key_comes_from(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], key: str | None
) -> None:
    asked: list[Audit] = []

    def keep(audit: Audit) -> Report:
        asked.append(audit)
        raise KeyboardInterrupt

    monkeypatch.setattr("specaudit.audit.run.run_audit", keep)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert specaudit(*GRD1).code == 130
    assert asked[0].api_key == key
    assert asked[0].reference_api_key is None
    monkeypatch.setenv("SPECAUDIT_REFERENCE_API_KEY", "sk-r")
    assert specaudit(*GRD1).code == 130
    assert (asked[1].api_key, asked[1].reference_api_key) == (key, "sk-r")


@pytest.mark.parametrize("value", ["sk-\x01", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_told_and_not_repeated(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    ran = specaudit(*GRD1)
    assert ran.code == 2
    assert "OPENAI_API_KEY holds characters" in ran.err
    assert value not in ran.err


def test_a_report_that_cannot_be_kept_is_shown_all_the_same(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(showing.Path, "write_text", full)
    ran = specaudit(*GRD1, "-q", "--out", "out")
    assert ran.code == 70
    assert ran.out.startswith("CONFORMS")
    assert ran.err == (
        "specaudit: out/report.json could not be written (No space left on device); the evidence is kept.\n"
        "Try: specaudit analyze out --json\n"
    )
    assert isinstance(read_evidence(Path("out")).entries[-1], SealEntry)


def test_ctrl_c_before_anything_is_kept(specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(audit: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr("specaudit.audit.run.run_audit", interrupt)
    ran = specaudit(*GRD1)
    assert (ran.code, ran.out, ran.err) == (130, "", "specaudit: Interrupted.\n")


def in_a_pipe(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, its output to pipes."""
    return subprocess.run(
        [sys.executable, "-m", "specaudit", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
        timeout=60,
    )


def test_no_escape_sequence_goes_to_a_pipe(tmp_path: Path) -> None:
    done = in_a_pipe(tmp_path, *GRD1)
    assert done.returncode == 0
    assert done.stdout.startswith("CONFORMS")
    assert "\x1b" not in done.stdout + done.stderr


def test_colour_is_forced_and_forbidden_by_the_environment(tmp_path: Path) -> None:
    forced = in_a_pipe(tmp_path, *GRD1, FORCE_COLOR="1", TERM="xterm")
    assert forced.stdout.startswith("\x1b[32mCONFORMS\x1b[0m")
    assert "\x1b" not in forced.stderr  # a bar belongs to a terminal, not to whoever wants colours
    forbidden = in_a_pipe(tmp_path, *GRD1, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert "\x1b" not in forbidden.stdout + forbidden.stderr


def test_the_result_goes_to_stdout_and_progress_to_stderr(specaudit: Specaudit) -> None:
    loud, quiet = specaudit(*GRD1, "--out", "a"), specaudit(*GRD1, "--out", "b", "-q")
    assert loud.err.splitlines() == [
        "subject: reference, model markov4",
        "reference: reference, model markov4",
        "GRD1: 24 requests, up to 192 tokens",
        "judging",
    ]
    assert quiet.err == ""
    assert (
        steady(loud).split("--- stdout")[1].split("--- stderr")[0].replace("out/a", "out/b").splitlines()[:8]
        == (steady(quiet).split("--- stdout")[1].splitlines()[:8])
    )
