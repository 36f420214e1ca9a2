import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady

SERVERS = (
    *("--endpoint", "http://subject.example/v1", "--reference", "http://reference.example/v1"),
    *("--metrics", "http://subject.example/metrics"),
)
PRICES = ("--price-in", 0.5, "--price-out", 1.5)
PLAN = ("plan", "--suite", SMALL)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (*SERVERS, "--assume", "scored", *PRICES),
        (*SERVERS, "--assume", "sampled", "--rpm", 60, "--max-cost", 0.1, *PRICES),
        ("--select", "CTR", "--speed", 50),
    ],
    ids=["in-process", "scored", "sampled", "a-part"],
)
def test_a_plan(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    ran = specaudit(*PLAN, *arguments)
    assert ran.code == 0
    assert ran.err == ""
    assert steady(ran, figures=False) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ("--assume", "sampled"),
        ("--endpoint", "http://subject.example/v1", "--assume", "exact"),
        ("--max-cost", 1),
        ("--rpm", 0),
        ("--token-budget", 0),
        ("--suite", "quikc"),
        ("--select", "LWA"),
        ("--ignore", "GRD,LAW,CTR"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_a_plan_that_cannot_be_made(
    specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]
) -> None:
    ran = specaudit(*PLAN, *arguments)
    assert ran.code == (3 if "--ignore" in arguments else 2)
    assert steady(ran) == snapshot


def test_a_dry_run_says_what_a_plan_says_and_leaves_nothing_behind(specaudit: Specaudit, tmp_path: Path) -> None:
    planned = specaudit(*PLAN, *SERVERS, *PRICES)
    dry = specaudit("run", "--dry-run", "--suite", SMALL, *SERVERS, *PRICES)
    assert dry.code == 0
    assert dry.out == planned.out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    assert steady(specaudit("run", "--dry-run", "--suite", SMALL, "--ignore", "LAW", *PRICES)) == snapshot


def test_json_is_the_estimate_and_nothing_else(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    ran = specaudit(*PLAN, *SERVERS, "--ignore", "LAW", "--json", *PRICES, "--max-requests", 5)
    estimated = json.loads(ran.out)
    assert ran.code == 0
    assert estimated["exceeds"] == "--max-requests"
    assert estimated["total"]["requests"] == estimated["probing"]["requests"] + sum(
        check["spending"]["requests"] for check in estimated["checks"]
    )
    assert steady(ran) == snapshot


def test_limits_are_taken_from_settings_too(specaudit: Specaudit, tmp_path: Path) -> None:
    (tmp_path / "specaudit.toml").write_text(
        f'suite = "{SMALL}"\nprice-out = 2.0\nmax-requests = 7\nselect = "GRD1"\n[plan]\nprice-out = 3\n'
    )
    estimated = json.loads(specaudit("plan", "--json").out)
    assert [check["check"] for check in estimated["checks"]] == ["GRD1"]
    assert (estimated["limits"]["price_out"], estimated["limits"]["max_requests"]) == (3.0, 7)
    assert json.loads(specaudit("run", "--dry-run", "--json").out)["limits"]["price_out"] == 2.0
    assert specaudit("run", "-q", "--out", "out").code == 4


def test_a_dry_run_does_not_go_on_with_an_audit(specaudit: Specaudit) -> None:
    assert specaudit("run", "--suite", SMALL, "--select", "GRD1", "--max-requests", 5, "--out", "out", "-q").code == 4
    before = Path("out", "evidence.jsonl").read_bytes()
    ran = specaudit("run", "--resume", "out", "--dry-run")
    assert ran.code == 2
    assert "--dry-run is for an audit that is yet to be planned" in ran.err
    assert Path("out", "evidence.jsonl").read_bytes() == before
