"""`specaudit compare`: folders and reports, in every form, and its exit codes."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.run import run_audit
from specaudit.cli.compare_command import FORMATS
from tests.audit.small import small_audit
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy audit and one of a mutant."""
    folder = tmp_path_factory.mktemp("audits")
    run_audit(small_audit(folder / "healthy", select=("GRD1",)))
    run_audit(small_audit(folder / "broken", engine="mutant:draft0-unverified", select=("GRD1",)))
    return folder


@pytest.fixture(autouse=True)
def beside(audits: Path) -> None:
    for name in ("healthy", "broken"):
        Path(name).symlink_to(audits / name)


def test_what_became_worse_is_told(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit("compare", "healthy", "broken")
    assert ran.code == 1
    assert steady(ran, figures=False) == snapshot


@pytest.mark.parametrize(
    ("first", "second", "code", "word"),
    [("healthy", "broken", 1, "WORSE"), ("broken", "healthy", 0, "BETTER"), ("broken", "broken", 0, "SAME")],
)
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "json"])
def test_every_form_begins_with_the_verdict(
    specaudit: Specaudit, first: str, second: str, code: int, word: str, form: str
) -> None:
    ran = specaudit("compare", first, second, "--format", form, "--out", "there")
    assert (ran.code, ran.out, ran.err) == (code, "", "")
    text = Path("there").read_text()
    assert word in text[:60] or f'<span class="word">{word}</span>' in text


def test_reports_are_read_as_well_as_folders(specaudit: Specaudit) -> None:
    for name in ("healthy", "broken"):
        Path(f"{name}.json").write_text(specaudit("analyze", name, "--json").out)
    told = json.loads(specaudit("compare", "healthy.json", "broken.json", "--json").out)
    again = json.loads(specaudit("compare", "healthy", "broken", "--format", "json").out)
    assert told["rows"] == again["rows"]
    assert [row["change"] for row in told["rows"]] == ["worse"]


@pytest.mark.parametrize("second", ["nowhere", "text.json"])
def test_what_is_no_audit(specaudit: Specaudit, second: str) -> None:
    Path("text.json").write_text("[]")
    ran = specaudit("compare", "healthy", second)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("specaudit: ")
    assert second in ran.err


def test_a_file_that_cannot_be_written(specaudit: Specaudit) -> None:
    ran = specaudit("compare", "healthy", "broken", "--out", "nowhere/there")
    assert ran.code == 70
    assert "nowhere/there could not be written: No such file or directory." in ran.err
