"""What to switch on for more, from a table of flags by engine, and what silently switches vLLM's ways off."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from specaudit.model.capabilities import Capabilities
from specaudit.model.checkup import Advice, Item, Parameter, Switch


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files("specaudit.doctor").joinpath("data", name).read_text(encoding="utf-8"))


def missing(
    found: Capabilities, items: Iterable[Item], parameters: Iterable[Parameter], *, metrics: bool
) -> Iterator[str]:
    """Yield what an endpoint does not reveal, in the words of the table."""
    states = {item.question: item.state for item in items}
    treated = {parameter.name: parameter.treatment for parameter in parameters}
    if found.tokens in ("none", "retokenized"):
        yield "tokens"
    if found.logprobs < 20 and (found.vocabulary_size is None or found.logprobs < found.vocabulary_size):
        yield "logprobs"
    if not metrics or states.get("Are there counters?") == "no":
        yield "counters"
    if not found.counts_in_answers:
        yield "answers"
    if found.max_choices == 1:
        yield "choices"
    if treated.get("seed") == "ignored":
        yield "seeds"
    if states.get("Is speculation really on?") == "no":
        yield "drafting"
    if found.engine == "vllm":
        yield "state"


def advice(found: Capabilities, lacking: Iterable[str]) -> tuple[Advice, ...]:
    """Return what to switch on: what is known of the engine, else what holds for any."""
    lacking = list(lacking)
    rows = _table("advice.toml")["advice"]
    given: list[Advice] = []
    for what in lacking:
        own = [row for row in rows if row["when"] == what and row["engine"] == found.engine]
        general = [row for row in rows if row["when"] == what and not row["engine"]]
        given += [Advice(flag=row["flag"], gives=row["gives"], source=row.get("source", "")) for row in own or general]
    return tuple(given)


def switches(found: Capabilities) -> tuple[Switch, ...]:
    """Return what silently switches off how the engine schedules and runs; nothing for engines without a table."""
    if found.engine != "vllm":
        return ()
    return tuple(Switch(**row) for row in _table("vllm_switches.toml")["switch"])


def vllm_state() -> Mapping[str, str]:
    """Return where the state of a request lives in either model runner, and what the new one needs."""
    state: Mapping[str, str] = _table("vllm_switches.toml")["state"]
    return state
