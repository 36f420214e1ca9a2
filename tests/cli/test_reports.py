"""`specaudit run --report`, and what a job of GitHub Actions is told."""

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from specaudit.audit.record import read_evidence
from specaudit.model.entries import SealEntry
from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit

GRD1 = ("run", "-q", "--suite", SMALL, "--select", "GRD1", "--out", "out")
MUTANT = ("--engine", "mutant:draft0-unverified")


def test_every_file_that_is_asked_for_is_written(specaudit: Specaudit) -> None:
    ran = specaudit(*GRD1, "--report", "junit=a.xml", "--report", "markdown=b.md", "--report", "json=c=d.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("CONFORMS")
    assert [suite.tests for suite in JUnitXml.fromfile("a.xml")] == [1]
    assert Path("b.md").read_text().startswith("## specaudit: CONFORMS\n")
    assert Path("c=d.json").read_text() == Path("out", "report.json").read_text()


def test_a_violation_stays_one_in_every_format(specaudit: Specaudit) -> None:
    assert specaudit(*GRD1, *MUTANT, "--report", "junit=a.xml").code == 1
    assert [suite.failures for suite in JUnitXml.fromfile("a.xml")] == [1]


def test_the_files_are_read_from_the_environment_and_from_settings(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("specaudit.toml").write_text('report = ["junit=a.xml", "json=b.json"]\n')
    assert specaudit(*GRD1).code == 0
    assert Path("a.xml").exists()
    assert Path("b.json").exists()
    monkeypatch.setenv("SPECAUDIT_RUN_REPORT", "markdown=c.md junit=d.xml")
    assert specaudit(*GRD1[:-1], "again").code == 0
    assert Path("c.md").exists()
    assert Path("d.xml").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("junit", "'junit' is not FORMAT=FILE, such as junit=specaudit.xml."),
        ("junit=", "'junit=' is not FORMAT=FILE"),
        (
            "junti=a.xml",
            "There is no format 'junti'. Did you mean 'junit'? There are: html, json, junit, github, markdown, ",
        ),
    ],
)
def test_a_wrong_one_is_told_before_anything_is_asked(specaudit: Specaudit, value: str, message: str) -> None:
    ran = specaudit(*GRD1, "--report", value)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not Path("out").exists()


@pytest.mark.parametrize(("engine", "code"), [((), 3), (MUTANT, 1)])
def test_a_file_that_cannot_be_written_is_told_after_all_else_is_kept(
    specaudit: Specaudit, engine: tuple[str, ...], code: int
) -> None:
    ran = specaudit(
        *GRD1, *engine, "--report", "junit=nowhere/a.xml", "--report", "json=.", "--report", "markdown=b.md"
    )
    assert ran.code == code
    assert ran.err == (
        "specaudit: Not written: nowhere/a.xml (No such file or directory), . (Is a directory). "
        "The evidence is kept.\nTry: specaudit report out --format junit --out FILE\n"
    )
    assert ran.out.startswith("VIOLATES" if engine else "CONFORMS")
    assert isinstance(read_evidence(Path("out")).entries[-1], SealEntry)
    assert Path("out", "report.json").exists()
    assert Path("b.md").exists()


def test_a_job_of_github_is_annotated_on_stderr_and_gets_a_summary(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("page.md").write_text("# of another step\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "page.md")
    ran = specaudit(*GRD1, *MUTANT, "--json")
    assert ran.code == json.loads(ran.out)["exit_code"] == 1
    assert [line.partition("::")[2].partition("::")[0] for line in ran.err.splitlines()] == [
        "error title=specaudit%3A VIOLATES",
        "error title=GRD1 violates",
    ]
    assert (
        specaudit("report", "out", "--format", "markdown").out + "\n" == Path("page.md").read_text().partition("\n")[2]
    )


def test_elsewhere_nobody_is_annotated(specaudit: Specaudit) -> None:
    assert specaudit(*GRD1, *MUTANT).err == ""


def test_a_summary_that_cannot_be_written_changes_no_exit_code(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/page.md")
    ran = specaudit(*GRD1)
    assert ran.code == 0
    assert ran.err == "specaudit: The summary page nowhere/page.md could not be written: No such file or directory.\n"
