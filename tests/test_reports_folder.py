"""Published figures: each file is in the table, and begins with the command that printed it."""

import re
from pathlib import Path

import pytest

REPORTS = Path(__file__).parents[1] / "reports"
ROWS = dict(re.findall(r"^\| `([^`]+)` \|.*\| `([^`]+)` \|$", (REPORTS / "README.md").read_text(), re.MULTILINE))
TEXTS = sorted(str(path.relative_to(REPORTS)) for path in REPORTS.rglob("*.txt"))


def test_every_file_is_in_the_table() -> None:
    files = {str(path.relative_to(REPORTS)) for path in REPORTS.rglob("*") if path.is_file()} - {"README.md"}
    assert files == set(ROWS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_begins_with_its_command(name: str) -> None:
    first = (REPORTS / name).read_text(encoding="utf-8").splitlines()[0]
    assert first == f"$ {ROWS[name]}"
