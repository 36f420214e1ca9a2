"""Two shards, merged, as a user types it."""

import json

from syrupy.assertion import SnapshotAssertion

from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


def test_two_machines_and_a_merge(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    for number in (1, 2):
        ran = specaudit(
            *(
                "run",
                "--suite",
                SMALL,
                "--select",
                "GRD1,CTR1",
                "--shard",
                f"{number}/2",
                "--out",
                f"part{number}",
                "-q",
            )
        )
        assert steady(ran) == snapshot(name=f"shard {number}")
    assert steady(specaudit("merge", "part1", "part2", "--out", "merged")) == snapshot(name="merge")
    assert specaudit("verify", "merged").code == 0
    for number in (1, 2):
        specaudit("run", "--resume", f"part{number}", "--shard", f"{number}/2", "-q")
    gone_on = specaudit("run", "--resume", "merged", "-q")
    assert gone_on.code in (0, 4)
    assert "CTR1   conforms" in gone_on.out


def test_json(specaudit: Specaudit) -> None:
    for number in (1, 2):
        specaudit("run", "--suite", SMALL, "--select", "GRD1", "--shard", f"{number}/2", "--out", f"part{number}", "-q")
    ran = specaudit("merge", "part1", "part2", "--out", "merged", "--json")
    told = json.loads(ran.out)
    assert (told["out"], told["asked"], told["planned"], told["complete"]) == ("merged", 24, 24, True)


def test_mistakes(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    specaudit("run", "--suite", SMALL, "--select", "GRD1", "--shard", "1/2", "--out", "part1", "-q")
    specaudit("run", "--suite", SMALL, "--select", "GRD1", "--shard", "1/2", "--out", "again", "-q")
    wrong = {
        "overlap": ("merge", "part1", "again", "--out", "merged"),
        "alone": ("merge", "part1", "--out", "merged"),
        "nothing": ("merge", "part1", "nowhere", "--out", "merged"),
        "no shard": ("run", "--shard", "3/2"),
        "no cluster with limits": ("run", "--scheduler", "tcp://127.0.0.1:1", "--max-requests", "5", "--out", "other"),
    }
    for name, arguments in wrong.items():
        ran = specaudit(*arguments)
        assert ran.code == 2
        assert steady(ran) == snapshot(name=name)
