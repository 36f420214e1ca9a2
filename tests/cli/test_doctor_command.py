"""`specaudit doctor` against the served decoder, its switches and mutants: whole, and what each is to say."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.checks import registry
from specaudit.doctor import speculation
from specaudit.doctor.examine import MOST_REQUESTS
from specaudit.engines.interface import Access
from specaudit.engines.registry import build
from specaudit.model.plan import Arm
from specaudit.serve.app import make_app
from specaudit.serve.switches import AS_VLLM, Switches
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady
from tests.engines.serving import closed_address, running

KEY = "sk-0123456789-never-to-be-seen"


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "IDLE_SECONDS", 0.02)


class Servers:
    """Servers by engine and switches, one at a time."""

    def __init__(self) -> None:
        self._stack: list[Any] = []

    def __call__(self, engine: str = "reference", switches: Switches = AS_VLLM, *, drafts: int = 3) -> str:
        built: Any = build(Arm(role="subject", engine=engine, draft_tokens=drafts, world="markov4"), Access())
        context = running(make_app(built, switches))
        self._stack.append(context)
        return context.__enter__()

    def stop(self) -> None:
        for context in self._stack:
            context.__exit__(None, None, None)


@pytest.fixture
def serve() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.stop()


def examined(specaudit: Specaudit, address: str, *options: str) -> dict[str, Any]:
    ran = specaudit("doctor", "--endpoint", f"{address}/v1", "--metrics", f"{address}/metrics", "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    assert found["spent"]["requests"] < MOST_REQUESTS
    assert len(found["exchanges"]) < MOST_REQUESTS
    return found


def items(found: dict[str, Any]) -> dict[str, str]:
    return {item["question"]: item["state"] for item in found["items"]}


def parameters(found: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["treatment"] for one in found["parameters"]}


GATEWAYS = {
    "as-vllm": Switches(),
    "tells-no-tokens": Switches(logprobs=False, token_ids=False),
    "refuses-what-it-cannot-verify": Switches(refuse=("min_p", "logit_bias")),
    "has-one-temperature": Switches(fixed_temperature=0.8, ignore_temperature=True),
}


@pytest.mark.parametrize("name", GATEWAYS)
def test_the_whole_of_it(specaudit: Specaudit, serve: Servers, snapshot: SnapshotAssertion, name: str) -> None:
    address = serve(switches=GATEWAYS[name])
    ran = specaudit("doctor", "--endpoint", f"{address}/v1", "--metrics", f"{address}/metrics")
    assert ran.code == 0
    whole = steady(ran)
    before, table, after = re.split(r"(?s)(\ncheck +can be carried out.*?\n)\n", whole)
    assert all(check_id in table for check_id in registry.locations())
    assert f"{before}\n\n{after}" == snapshot  # the checks there are change more often than this


@pytest.mark.parametrize(
    ("engine", "drafts", "states"),
    [
        (
            "reference",
            3,
            {
                "Is speculation really on?": "yes",
                "Can a request switch it off?": "no",
                "Are there counters?": "yes",
                "Would a restart show?": "yes",
                "Does anybody else ask?": "no",
            },
        ),
        ("reference", 0, {"Is speculation really on?": "unknown", "Are there counters?": "no"}),
        ("mutant:spec-silently-off", 3, {"Is speculation really on?": "no", "Are there counters?": "yes"}),
    ],
)
def test_questions_of_speculation(
    specaudit: Specaudit, serve: Servers, engine: str, drafts: int, states: dict[str, str]
) -> None:
    assert states.items() <= items(examined(specaudit, serve(engine, drafts=drafts))).items()


def test_a_seed_that_is_ignored_is_seen(specaudit: Specaudit, serve: Servers) -> None:
    assert parameters(examined(specaudit, serve("mutant:seed-ignored")))["seed"] == "ignored"


def test_what_is_refused_is_told_from_what_is_ignored(specaudit: Specaudit, serve: Servers) -> None:
    found = parameters(examined(specaudit, serve(switches=GATEWAYS["refuses-what-it-cannot-verify"])))
    assert found["min_p"] == found["logit_bias"] == "refused"
    assert found["top_k"] == found["top_p"] == "honoured"
    assert found["(a field that nobody knows)"] == "ignored"


def test_which_checks_are_supported(specaudit: Specaudit, serve: Servers) -> None:
    def supported(found: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
        return {one["check"]: (one["alone"], one["referenced"]) for one in found["checks"]}

    open_one = supported(examined(specaudit, serve()))
    assert open_one["LAW1"] == (False, True)
    assert open_one["LAW4"] == open_one["CTR3"] == (True, True)
    silent = supported(examined(specaudit, serve(switches=GATEWAYS["tells-no-tokens"])))
    assert silent["LAW1"] == (False, True)  # by its characters
    assert silent["CTR4"] == (False, False)


def test_without_a_metrics_page_and_without_a_trace_of_the_key(
    specaudit: Specaudit, serve: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = specaudit("doctor", "--endpoint", f"{serve()}/v1", "-v")
    assert ran.code == 0
    assert "no metrics page was named: --metrics URL" in " ".join(ran.out.split())
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--endpoint", closed_address()), 3, "Nothing answers at"),
        (("--endpoint", "foo"), 3, "is not an http(s) address"),
        (("--endpoint", closed_address(), "--engine", "mutant:reuse-uniform"), 2, "runs in process"),
        (("--endpoint", closed_address(), "--engine", "vlm"), 2, "There is no engine named 'vlm'"),
        ((), 2, "Missing option '--endpoint'"),
    ],
)
def test_what_cannot_be_examined_is_a_sentence(
    specaudit: Specaudit, options: tuple[str, ...], code: int, said: str
) -> None:
    ran = specaudit("doctor", *options)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_page_that_is_none_of_counters_is_said(specaudit: Specaudit, serve: Servers) -> None:
    address = serve()
    ran = specaudit("doctor", "--endpoint", f"{address}/v1", "--metrics", f"{address}/v1/models", "--json")
    assert ran.code == 0
    assert items(json.loads(ran.out))["Are there counters?"] == "no"
