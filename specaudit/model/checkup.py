"""What an endpoint reveals: a checklist, the checks that it supports, and what to switch on for more."""

from typing import Literal

from specaudit.model.capabilities import Capabilities
from specaudit.model.limits import Spending
from specaudit.model.record import FORM_VERSION, Record

State = Literal["yes", "no", "partly", "unknown"]

Treatment = Literal["honoured", "refused", "ignored", "not offered", "unclear"]
"""What becomes of a parameter: `ignored` is answered and has no effect; `not offered` is nothing that can be asked for
there; `unclear` left no trace that would tell."""


class Item(Record, frozen=True, kw_only=True):
    """One line of the checklist."""

    topic: str
    question: str
    state: State
    answer: str
    """In words, with the figures that it rests on."""


class Parameter(Record, frozen=True, kw_only=True):
    """What becomes of one request parameter, by behaviour."""

    name: str
    treatment: Treatment
    seen: str
    """What was asked and seen."""


class Support(Record, frozen=True, kw_only=True):
    """Whether a check can be carried out against the endpoint."""

    check: str
    title: str
    alone: bool
    """With this endpoint and no other."""
    referenced: bool
    """With the same target, served without speculation, as reference."""
    missing: str = ""
    """What it lacks, in the check's own words."""


class Advice(Record, frozen=True, kw_only=True):
    """Something to switch on, and what it gives."""

    flag: str
    gives: str
    source: str = ""


class Switch(Record, frozen=True, kw_only=True):
    """A feature that silently switches off how an engine schedules or runs its model."""

    switches_off: str
    by: str
    source: str


class Checkup(Record, frozen=True, kw_only=True):
    """Everything that was found out about an endpoint."""

    version: int = FORM_VERSION
    tool: str
    endpoint: str
    metrics: str | None = None
    capabilities: Capabilities
    known: bool
    """An adapter is made for the engine."""
    items: tuple[Item, ...]
    parameters: tuple[Parameter, ...]
    checks: tuple[Support, ...]
    advice: tuple[Advice, ...]
    switches: tuple[Switch, ...] = ()
    exchanges: tuple[str, ...] = ()
    """Every request and its answer, a line each."""
    spent: Spending
