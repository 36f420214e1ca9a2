"""Filters that a suite asks for: which are refused, and every one at once, end to end.

In the end the decoder applies its own set of processors, and the audit holds it against the other one.
"""

import asyncio
from pathlib import Path

import pytest

from specaudit.audit.audit import Audit
from specaudit.audit.filters import wanted_filters, with_refused_filters
from specaudit.audit.run import run_audit
from specaudit.checks.grd3.check import EndEquality
from specaudit.engines.interface import EngineFailure, Probe
from specaudit.engines.pace import Pacer
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.limits import UNLIMITED, Spending
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import Suite
from tests.audit.fakes import FakeEngine, answer, status
from tests.audit.small import made_plan

FILTERS = {
    "temperature": 0.9,
    "min_p": 0.05,
    "repetition_penalty": 1.2,
    "presence_penalty": 0.8,
    "frequency_penalty": 0.3,
    "logit_bias": [[1, 0.5]],
    "bad_words": [[3, 2]],
}
LAW1 = {"required": True, "tolerance": 0.2, "sampling": FILTERS}
SUITE = Suite(name="filters", title="", alpha=0.02, checks={"LAW1": LAW1})


@pytest.mark.parametrize(("engine", "code"), [("reference", 0), ("mutant:resid-from-target", 1)])
def test_filters_that_look_back(tmp_path: Path, engine: str, code: int) -> None:
    report = run_audit(Audit(suite=SUITE, out=tmp_path, engine=engine))
    assert report.exit_code == code
    assert {view.law for view in report.findings[0].views} == {"exact"}


class Speculating(FakeEngine):
    """As vLLM under speculation: neutral values are taken, a min_p and a bias are refused."""

    async def complete(self, request: Request) -> Response:
        if request.sampling.min_p or request.sampling.logit_bias:
            raise EngineFailure(status(400))
        return await super().complete(request)


def test_each_filter_that_a_suite_turns_on_is_asked_for_by_itself() -> None:
    wanted = wanted_filters(made_plan(suite=SUITE, checks=("LAW1",)))
    assert set(wanted) == set(FILTERS) - {"temperature"}
    assert wanted["min_p"].sampling == Sampling(min_p=0.05)
    assert wanted["bad_words"].sampling == Sampling(bad_words=((3, 2),))
    assert wanted_filters(made_plan(suite=SUITE, checks=())) == {}


def test_what_is_refused_is_known_before_the_audit_asks_for_it() -> None:
    probe = Probe(capabilities=Capabilities(engine="fake", refused=("presence_penalty",)), spent=Spending(requests=3))
    wanted = wanted_filters(made_plan(suite=SUITE, checks=("LAW1",)))
    engine = Speculating()
    found = asyncio.run(with_refused_filters(engine, probe, wanted, Pacer(UNLIMITED)))
    assert found.capabilities.refused == ("presence_penalty", "min_p", "logit_bias")
    assert found.exchanges[:2] == (
        "min_p = 0.05: The server answered 400.",
        "repetition_penalty = 1.2: applied or ignored",
    )
    assert found.spent.requests == 3 + len(engine.asked) == 3 + 3
    assert found.spent.generated_tokens == 3 * len(answer(1).completions[0].tokens or ())


def test_fields_that_a_check_can_do_without_are_asked_for_as_well() -> None:
    wanted = wanted_filters(made_plan(suite=Suite(name="ends", title="", checks={"GRD3": {}}), checks=("GRD3",)))
    assert {name: getattr(request, name) for name, request in wanted.items()} == EndEquality.optional_fields
    found = asyncio.run(
        with_refused_filters(Strict(), Probe(capabilities=Capabilities(engine="fake")), wanted, Pacer(UNLIMITED))
    )
    assert found.capabilities.refused == ("stop_token_ids", "min_tokens")
    assert "min_tokens = 1: The server answered 400." in found.exchanges


class Strict(FakeEngine):
    """Knows OpenAI's own fields only."""

    async def complete(self, request: Request) -> Response:
        if request.min_tokens or request.stop_token_ids:
            raise EngineFailure(status(400))
        return await super().complete(request)
