import json
from pathlib import Path

import pytest
from junitparser import JUnitXml
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import FILE_NAME
from specaudit.audit.run import run_audit
from specaudit.render.registry import FORMATS
from tests.audit.small import small_audit
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.render.test_registry import LARGE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence of a violation."""
    folder = tmp_path_factory.mktemp("recorded") / "out"
    run_audit(small_audit(folder, engine="mutant:draft0-unverified", select=("GRD1",)))
    return folder


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_exits_as_the_audit_does(
    specaudit: Specaudit, snapshot: SnapshotAssertion, folder: Path, name: str
) -> None:
    ran = specaudit("report", folder, "--format", name)
    assert (ran.code, ran.err) == (specaudit("analyze", folder).code, "")
    assert ran.code == 1
    if name not in (*LARGE, "json"):
        assert steady(ran, figures=False) == snapshot


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_holds_what_stdout_would(specaudit: Specaudit, folder: Path, name: str) -> None:
    told = specaudit("report", folder, "--format", name)
    kept = specaudit("report", folder, "--format", name, "--out", "there")
    assert (kept.code, kept.out, kept.err) == (1, "", "")
    assert Path("there").read_text(encoding="utf-8") == told.out


def test_json_is_that_of_analyze(specaudit: Specaudit, folder: Path) -> None:
    told = specaudit("report", folder, "--format", "json").out
    assert told == specaudit("analyze", folder, "--json").out
    assert json.loads(told)["exit_code"] == 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_allowed_is_allowed_in_every_format(specaudit: Specaudit, name: str) -> None:
    run_audit(small_audit(Path("plain"), draft_tokens=0, select=("GRD1",)))
    assert specaudit("report", "plain", "--format", name).code == 4
    assert specaudit("report", "plain", "--format", name, "--allow-inconclusive").code == 0


def test_evidence_that_was_cut_off_is_an_error_in_junit(specaudit: Specaudit, folder: Path) -> None:
    Path("cut").mkdir()
    Path("cut", FILE_NAME).write_bytes((folder / FILE_NAME).read_bytes()[:-30])
    ran = specaudit("report", "cut", "--format", "junit")
    assert ran.code == 130
    (suite,) = JUnitXml.fromstring(ran.out.encode())
    assert suite.errors == 1


def test_a_file_that_cannot_be_written_hides_no_violation(
    specaudit: Specaudit, snapshot: SnapshotAssertion, folder: Path
) -> None:
    ran = specaudit("report", folder, "--format", "junit", "--out", "nowhere/specaudit.xml")
    assert ran.code == 1
    assert steady(ran).replace(str(folder), "<folder>") == snapshot


@pytest.mark.parametrize("arguments", [[], ["--format", "junti"], ["--format"]], ids=" ".join)
def test_a_usage_error(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: list[str]) -> None:
    ran = specaudit("report", "out", *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_a_vendor_report_verifies_a_claim(specaudit: Specaudit, folder: Path) -> None:
    ran = specaudit("report", folder, "--format", "vendor-markdown", "--claim", "host-table")
    assert (ran.code, ran.err) == (1, "")
    assert "\n> " in ran.out
    assert "No claim was given" not in ran.out


def test_other_formats_tell_of_no_claim(specaudit: Specaudit, folder: Path) -> None:
    ran = specaudit("report", folder, "--format", "junit", "--claim", "host-table")
    assert (ran.code, ran.out) == (2, "")
    assert "--claim goes with --format vendor-html or vendor-markdown." in ran.err
