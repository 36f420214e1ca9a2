import json
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import FILE_NAME
from specaudit.audit.run import run_audit
from tests.audit.small import small_audit
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    run_audit(small_audit(folder, engine="mutant:draft0-unverified", select=("GRD1",)))
    return folder / FILE_NAME


@pytest.fixture
def evidence(recorded: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    (tmp_path / "out").mkdir()
    shutil.copy(recorded, tmp_path / "out")
    return Path("out", FILE_NAME)


@pytest.mark.parametrize("command", ["analyze", "verify"])
def test_good_evidence(specaudit: Specaudit, snapshot: SnapshotAssertion, evidence: Path, command: str) -> None:
    assert steady(specaudit(command, "out"), figures=False) == snapshot


@pytest.mark.parametrize("command", ["analyze", "verify"])
def test_evidence_that_was_tampered_with(
    specaudit: Specaudit, snapshot: SnapshotAssertion, evidence: Path, command: str
) -> None:
    evidence.write_text(evidence.read_text().replace('"finish_reason":"length"', '"finish_reason":"stop"', 1))
    ran = specaudit(command, "out")
    assert ran.code == 2
    assert steady(ran) == snapshot


@pytest.mark.parametrize("command", ["analyze", "verify"])
def test_evidence_that_is_missing(specaudit: Specaudit, snapshot: SnapshotAssertion, command: str) -> None:
    ran = specaudit(command, "nowhere")
    assert ran.code == 2
    assert steady(ran) == snapshot


@pytest.mark.parametrize("command", ["analyze", "verify"])
def test_evidence_that_was_cut_off(
    specaudit: Specaudit, snapshot: SnapshotAssertion, evidence: Path, command: str
) -> None:
    evidence.write_bytes(evidence.read_bytes()[:-30])
    ran = specaudit(command, "out")
    assert ran.code == 130
    assert steady(ran, figures=False) == snapshot


def test_the_same_bytes_as_the_run_whoever_asks(specaudit: Specaudit, evidence: Path) -> None:
    for_machines = [specaudit("analyze", where, "--json").out for where in ("out", evidence)]
    assert for_machines[0] == for_machines[1]
    assert json.loads(for_machines[0])["exit_code"] == specaudit("analyze", "out").code == 1


def test_verbose_says_more(specaudit: Specaudit, evidence: Path) -> None:
    assert "Assumes:" in specaudit("analyze", "out", "-v").out
    assert "Assumes:" not in specaudit("analyze", "out").out


def test_inconclusive_evidence_passes_where_that_is_allowed(specaudit: Specaudit) -> None:
    run_audit(small_audit(Path("plain"), draft_tokens=0, select=("GRD1",)))
    assert specaudit("analyze", "plain").code == 4
    assert specaudit("analyze", "plain", "--allow-inconclusive").code == 0
