"""Limits and money on the command line, in process and against servers that limit the rate."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.budget import spent_in
from specaudit.audit.record import read_evidence
from specaudit.model.entries import ProbeEntry
from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.cli.test_over_http import Server, ready, start

RUN = ("run", "--suite", SMALL, "--out", "out")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    processes = {
        "plain": start("--draft-tokens", "0"),
        "speculating": start(),
        "limited": start("--rate-limit", "1200"),
    }
    try:
        yield {name: ready(process) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
            process.communicate(timeout=10)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--max-requests", 30), 4),
        (("--max-cost", 0.0003, "--price-out", 1), 4),
        (("--token-budget", 900), 4),
        (("--token-budget", 1), 3),
        (("--max-cost", 1), 2),
        (("--max-requests", 30, "--allow-inconclusive"), 0),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_limit(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...], code: int) -> None:
    ran = specaudit(*RUN, "--select", "GRD1,CTR1", *arguments)
    assert ran.code == code
    assert steady(ran, figures=False) == snapshot


def test_an_audit_goes_on_with_a_larger_limit(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    assert specaudit(*RUN, "--select", "GRD1,CTR1", "--max-requests", 10, "-q").code == 4
    assert specaudit("run", "--resume", "out", "-q").code == 4
    ran = specaudit("run", "--resume", "out", "--max-requests", 100)
    assert ran.code == 0
    assert steady(ran, figures=False) == snapshot


def against(servers: dict[str, Server], subject: str) -> tuple[str, ...]:
    return (
        *("--endpoint", servers[subject].endpoint, "--reference", servers["plain"].endpoint),
        *("--metrics", servers[subject].metrics),
    )


def test_a_server_that_limits_the_rate_loses_no_sample(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = specaudit(*RUN, "--select", "GRD1,CTR1", "--concurrency", 8, *against(servers, "limited"))
    assert ran.code == 0
    assert steady(replace(ran, err=""), figures=False) == snapshot  # how often it refuses depends on the machine
    evidence = read_evidence(Path("out"))
    refused = [attempt for attempt in evidence.attempts() if attempt.failure is not None]
    assert {attempt.failure.status for attempt in refused if attempt.failure} <= {429}
    assert all(
        evidence.response(name, slot) for name in evidence.stages for slot in range(len(evidence.stages[name].slots()))
    )


def test_at_an_allowed_pace_nothing_is_refused(specaudit: Specaudit, servers: dict[str, Server]) -> None:
    ran = specaudit(*RUN, "--select", "GRD1", "--rpm", 1160, "--concurrency", 8, "-q", *against(servers, "limited"))
    assert ran.code == 0
    assert all(attempt.failure is None for attempt in read_evidence(Path("out")).attempts())


def test_probing_is_paid_for_too(specaudit: Specaudit, servers: dict[str, Server]) -> None:
    prices = ("--price-in", 1, "--price-out", 1)
    ran = specaudit(*RUN, "--select", "GRD1", *against(servers, "speculating"), *prices, "--json", "-q")
    evidence = read_evidence(Path("out"))
    probed = [entry.spent for entry in evidence.entries if isinstance(entry, ProbeEntry)]
    assert all(spent.requests and spent.prompt_tokens and spent.generated_tokens for spent in probed)
    spent = spent_in(evidence)
    assert json.loads(ran.out)["cost"] == pytest.approx(spent.tokens * 1e-6)


def test_there_is_no_probing_without_room_for_it(specaudit: Specaudit, servers: dict[str, Server]) -> None:
    ran = specaudit(*RUN, "--max-requests", 5, *against(servers, "speculating"))
    assert ran.code == 3
    assert "--max-requests 5 leaves no room for the next request: 0 requests spent." in ran.out
