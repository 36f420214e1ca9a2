import json

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.cli.list_command import KINDS
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


@pytest.mark.parametrize("kind", [*KINDS, "engine"])
def test_list(specaudit: Specaudit, snapshot: SnapshotAssertion, kind: str) -> None:
    assert steady(specaudit("list", kind)) == snapshot


@pytest.mark.parametrize("kind", KINDS)
def test_json_says_the_same(specaudit: Specaudit, kind: str) -> None:
    rows = json.loads(specaudit("list", kind, "--json").out)
    lines = specaudit("list", kind).out.splitlines()
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]
    assert all(line.endswith(row["description"]) for line, row in zip(lines, rows, strict=True))
