"""The buyer with one endpoint: `--reference self`, and what a key alone allows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.audit.record import read_evidence
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.cli.test_over_http import Server, against, ready, start

SUITE = Path(__file__).parent / "one_endpoint.toml"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    processes = {
        "speculating": start(),
        "mutant": start("--engine", "mutant:resid-from-target"),
        "no logprobs": start("--engine", "mutant:resid-from-target", "--no-logprobs"),
        "text": start("--chat-only", "--no-logprobs", "--no-token-ids"),
    }
    try:
        yield {name: ready(process) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
            process.communicate(timeout=10)


def test_an_endpoint_that_is_consistent_with_itself_conforms(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    subject = against(servers["speculating"], metrics=True)
    ran = specaudit("run", "--suite", SUITE, "--out", "out", "-q", *subject, "--reference", "self")
    assert ran.code == 0, ran.out
    assert steady(ran, figures=False) == snapshot
    assert specaudit("analyze", "out").out == ran.out
    asked = [planned for name in read_evidence(Path("out")).stages.values() for planned in name.slots()]
    assert {planned.request.max_tokens for planned in asked if planned.arm == "reference"} == {1}


@pytest.mark.parametrize(("name", "tolerance"), [("mutant", 0.15), ("no logprobs", 0.08)])
def test_an_endpoint_whose_verifier_bends_the_law_violates(
    specaudit: Specaudit, servers: dict[str, Server], name: str, tolerance: float
) -> None:
    suite = Path("own.toml")
    suite.write_text(SUITE.read_text().replace("tolerance = 0.15", f"tolerance = {tolerance}"))
    subject = against(servers[name], metrics=True)
    asked = ("--select", "LAW3", "--reference", "self")
    ran = specaudit("run", "--suite", suite, "--out", "out", "-q", "--json", *subject, *asked)
    assert ran.code == 1, ran.out
    found = {finding["check"]: finding for finding in json.loads(ran.out)["findings"]}
    assert found["LAW3"]["verdict"] == "violates"
    assert found["LAW3"]["betting"]["rejected_after"] < 10_000
    assert "not that the target is the one that was promised" in found["LAW3"]["assumptions"][0]


def test_with_a_key_alone_what_is_left_is_tested_and_the_rest_is_not_applicable(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = specaudit("run", "--suite", SUITE, "--out", "out", "-q", *against(servers["speculating"]))
    assert ran.code == 0, ran.out
    assert steady(ran, figures=False) == snapshot


def test_where_an_endpoint_shows_text_only_its_seeds_can_still_be_tested(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    ran = specaudit(
        *("run", "--suite", SUITE, "--out", "out", "-q", "--api", "chat", "--select", "SED1,LAW2,LAW4,CTR4"),
        *against(servers["text"]),
    )
    assert ran.code == 3, ran.out
    assert steady(ran, figures=False) == snapshot


def test_the_suite_for_one_endpoint_is_meant_where_there_is_no_other(specaudit: Specaudit) -> None:
    ran = specaudit("run", "--endpoint", "http://127.0.0.1:9/v1", "--reference", "self", "--dry-run")
    assert "one-endpoint" in ran.out, ran.out + ran.err


def test_the_endpoint_by_its_address_is_no_reference(specaudit: Specaudit) -> None:
    address = "http://127.0.0.1:9/v1"
    ran = specaudit("run", "--endpoint", address, "--reference", address)
    assert ran.code == 2
    assert "--reference self" in ran.err
