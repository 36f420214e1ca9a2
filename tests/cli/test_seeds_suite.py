"""SED1 to SED3 and LGP1 over HTTP, each against a right server and one with a planted fault."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.cli.test_over_http import Server, against, ready, start

SUITE = Path(__file__).parent / "seeds.toml"

ENGINES = {
    "plain": ("--draft-tokens", "0"),
    "coupled": ("--engine", "control:sampler-match"),
    "seed-depends-on-batch": ("--engine", "mutant:seed-depends-on-batch"),
    "bonus-coin-reused": ("--engine", "mutant:bonus-coin-reused"),
    "zero-logprobs": ("--engine", "mutant:zero-logprobs"),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    processes = {name: start(*arguments) for name, arguments in ENGINES.items()}
    try:
        yield {name: ready(process) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
            process.communicate(timeout=10)


def test_an_engine_that_emits_the_targets_own_draws_passes_all(
    specaudit: Specaudit, servers: dict[str, Server], snapshot: SnapshotAssertion
) -> None:
    arms = against(servers["coupled"], servers["plain"], metrics=True)
    ran = specaudit("run", "--suite", SUITE, "--out", "out", "-q", *arms)
    assert ran.code == 0, ran.out
    assert steady(ran, figures=False) == snapshot
    assert specaudit("analyze", "out").out == ran.out


@pytest.mark.parametrize(
    ("name", "check", "told"),
    [
        ("seed-depends-on-batch", "SED2", "The batch decides what is answered"),
        ("bonus-coin-reused", "SED3", "The engine emits the target's own draws, and yet"),
        ("zero-logprobs", "LGP1", "They are zero logprobs on verification steps"),
    ],
)
def test_a_planted_fault_violates(
    specaudit: Specaudit, servers: dict[str, Server], name: str, check: str, told: str
) -> None:
    arms = against(servers[name], servers["plain"], metrics=True)
    ran = specaudit("run", "--suite", SUITE, "--out", "out", "-q", "--json", "--select", check, *arms)
    assert ran.code == 1, ran.out
    (found,) = json.loads(ran.out)["findings"]
    assert found["verdict"] == "violates"
    assert told in found["summary"]


def test_an_endpoint_is_held_against_its_own_undrafted_logprobs(
    specaudit: Specaudit, servers: dict[str, Server]
) -> None:
    arms = against(servers["zero-logprobs"])
    ran = specaudit(
        *("run", "--suite", SUITE, "--out", "out", "-q", "--json", "--reference", "self", "--select", "LGP1"), *arms
    )
    assert ran.code == 1, ran.out
    (found,) = json.loads(ran.out)["findings"]
    assert "not that the target is the one that was promised" in found["assumptions"][0]


def test_what_a_server_refuses_is_said_and_nothing_is_accused(specaudit: Specaudit, servers: dict[str, Server]) -> None:
    refusing = ready(start("--no-logprobs", "--refuse", "n,seed"))
    try:
        arms = against(refusing, servers["plain"], metrics=True)
        ran = specaudit("run", "--suite", SUITE, "--out", "out", "-q", "--json", *arms)
    finally:
        refusing.process.terminate()
        refusing.process.communicate(timeout=10)
    assert ran.code == 3, ran.out
    found = {one["check"]: one for one in json.loads(ran.out)["findings"]}
    assert {one["verdict"] for one in found.values()} == {"not-applicable"}
    assert found["LGP1"]["summary"] == "The subject reports no logprobs."
    assert found["SED2"]["summary"] == "The subject refuses requests with a seed."
