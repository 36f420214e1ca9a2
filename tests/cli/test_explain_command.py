import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.checks import registry
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


@pytest.mark.parametrize("check_id", registry.locations())
def test_every_check_explains_itself(specaudit: Specaudit, check_id: str) -> None:
    ran = specaudit("explain", check_id.lower())
    assert ran.code == 0
    assert ran.out.startswith(f"{check_id} {registry.get(check_id).title}.\n")
    for part in ("Requirement:", "Assumptions:", "Source:", "Kills:"):
        assert part in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize(("columns", "widest"), [("40", 40), ("300", 100)])
def test_paragraphs_fill_the_terminal_but_stay_readable(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert widest - 15 < max(map(len, specaudit("explain", "LAW1").out.splitlines())) <= widest


@pytest.mark.parametrize("name", ["LAW9", "law"])
def test_an_unknown_check(specaudit: Specaudit, snapshot: SnapshotAssertion, name: str) -> None:
    assert steady(specaudit("explain", name)) == snapshot
