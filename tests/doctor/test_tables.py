"""The tables of flags and switches: every row has its source, and reaches who needs it."""

from typing import Any

import pytest

from specaudit.doctor.advice import advice, missing, switches, vllm_state
from specaudit.doctor.vllm import vllm_items
from specaudit.laws.orders import ORDERS
from specaudit.model.capabilities import Capabilities

OPEN: dict[str, Any] = {
    "tokens": "ids",
    "logprobs": 20,
    "max_choices": 8,
    "counts_in_answers": True,
}


def flags(engine: str, *lacking: str) -> list[str]:
    return [row.flag for row in advice(Capabilities(engine=engine), lacking)]


@pytest.mark.parametrize("engine", [*ORDERS, "openai"])
def test_counters_can_always_be_asked_for(engine: str) -> None:
    assert any("--metrics" in flag or "--enable-metrics" in flag for flag in flags(engine, "counters"))


def test_an_engines_own_flag_comes_before_the_general_one() -> None:
    assert flags("vllm", "logprobs") == ["--max-logprobs -1 --logprobs-mode processed_logprobs"]
    assert flags("openai", "tokens") == ["--tokenizer tokenizer.json"]


def test_what_is_known_of_an_engine_has_its_source() -> None:
    lacking = ("tokens", "logprobs", "counters", "answers", "choices", "seeds", "drafting", "state")
    for engine in ORDERS:
        own = [row for row in advice(Capabilities(engine=engine), lacking) if row.source]
        assert all(row.gives for row in own)
    assert all(row.source for row in switches(Capabilities(engine="vllm")))


def test_an_endpoint_that_reveals_all_lacks_nothing() -> None:
    assert list(missing(Capabilities(engine="openai", **OPEN), (), (), metrics=True)) == []
    assert list(missing(Capabilities(engine="openai"), (), (), metrics=False)) == [
        "tokens",
        "logprobs",
        "counters",
        "answers",
        "choices",
    ]


def test_only_vllm_has_a_table_of_switches() -> None:
    off = {row.switches_off for row in switches(Capabilities(engine="vllm"))}
    assert off == {"asynchronous scheduling", "the new model runner"}
    assert switches(Capabilities(engine="sglang")) == ()
    assert set(vllm_state()) == {"old", "new", "needs", "choice"}


@pytest.mark.parametrize(
    ("page", "state"),
    [
        (None, "unknown"),
        ({}, "unknown"),
        ({"vllm_config": "SchedulerConfig(async_scheduling=True, …)"}, "yes"),
        ({"vllm_config": {"scheduler_config": {"async_scheduling": False}}}, "no"),
        ({"vllm_config": {"scheduler_config": {"async_scheduling": None}}}, "unknown"),
    ],
)
def test_scheduling_is_said_where_the_server_tells(page: Any, state: str) -> None:
    scheduling, runner = vllm_items(page)
    assert (scheduling.question, scheduling.state) == ("Is scheduling asynchronous?", state)
    assert "Triton" in runner.answer
