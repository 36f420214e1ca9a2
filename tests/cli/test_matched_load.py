"""The speed-up between two servers whose steps take a known time, on real clocks."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Specaudit
from tests.cli.test_gateways import serving

SUITE = Path(__file__).with_name("matched_load.toml")
PLAIN = ("--draft-tokens", "0", "--step-ms")


@pytest.fixture(scope="module")
def servers() -> Iterator[list[str]]:
    """One whose steps take half as long as the other's."""
    with serving((*PLAIN, "10"), (*PLAIN, "20")) as addresses:
        yield addresses


def suite(folder: Path, **settings: float) -> Path:
    more = "".join(f"{name} = {value}\n" for name, value in settings.items())
    path = folder / "load.toml"
    path.write_text(SUITE.read_text() + more)
    return path


def test_a_server_of_half_the_step_time_is_twice_as_fast_and_not_eight_times(
    specaudit: Specaudit, servers: list[str]
) -> None:
    subject, reference = servers
    asked = ("--endpoint", subject, "--reference", reference, "--suite", suite(Path(), stated=8), "-q", "--json")
    ran = specaudit("run", *asked, "--out", "out")
    (finding,) = json.loads(ran.out)["findings"]
    assert (ran.code, finding["verdict"]) == (1, "violates")
    assert finding["summary"].endswith("; 8 was claimed.")
    # What a request costs beside its steps, little or, on a busy machine, much, is the same in both arms.
    effect = finding["effect"]
    assert effect["low"] < 2.1
    assert effect["high"] > 1.5
    assert finding["measured"]["subject, tokens a second"] < 2 * 8 / (8 * 0.010)


def test_at_a_rate_requests_are_sent_at_their_times(specaudit: Specaudit, servers: list[str]) -> None:
    """Faster than a server answers, so that several are in flight, in one batch, which takes no longer than one."""
    subject, reference = servers
    asked = ("--endpoint", subject, "--reference", reference, "--suite", suite(Path(), rate=40), "-q", "--json")
    ran = specaudit("run", *asked, "--stream", "--out", "out")
    (finding,) = json.loads(ran.out)["findings"]
    assert finding["verdict"] in ("conforms", "inconclusive")
    assert finding["measured"]["subject, seconds to the first token, 50 %"] > 0
    entries = [json.loads(line) for line in Path("out", "evidence.jsonl").read_text().splitlines()]
    (stage,) = [entry["stage"] for entry in entries if entry["kind"] == "stage"]
    assert stage["rate"] == 40
