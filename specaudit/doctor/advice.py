"""What to switch on for more, from a table of flags by engine, and what silently switches vLLM's ways off."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from specaudit.doctor.vllm_runner import version
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
    if found.engine == "vllm" and states.get("Is scheduling asynchronous?", "unknown") == "unknown":
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
    """Return what silently switches off how this release of the engine schedules and runs; nothing without a table.

    Of an engine that does not tell its release, the rows of all are returned, each with those that it holds for.
    """
    if found.engine != "vllm":
        return ()
    release = version(found.version)
    return tuple(
        Switch(switches_off=row["switches_off"], by=row["by"] + _releases(row, release), source=row["source"])
        for row in _table("vllm_switches.toml")["switch"]
        if release is None or _holds(row, release)
    )


def _holds(row: Mapping[str, str], release: tuple[int, int]) -> bool:
    since, before = version(row.get("since")), version(row.get("before"))
    return (since is None or since <= release) and (before is None or release < before)


def _releases(row: Mapping[str, str], release: tuple[int, int] | None) -> str:
    if release is not None or "since" not in row:
        return ""
    before = f", before {row['before']}" if "before" in row else ""
    return f" ({row['since']} and later{before})"


def vllm_state() -> Mapping[str, str]:
    """Return where the state of a request lives in either model runner, and what the new one needs."""
    state: Mapping[str, str] = _table("vllm_switches.toml")["state"]
    return state
