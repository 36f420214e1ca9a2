"""The plan of an audit: a header, then stages.

A stage's requests are a pure function of the header and of the evidence of earlier stages. Both are recorded,
with their digest, before the stage's first call.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from specaudit.model.limits import UNLIMITED, Limits
from specaudit.model.record import FORM_VERSION, Record
from specaudit.model.request import Prompt, Request
from specaudit.model.segments import Segment
from specaudit.model.suite import Suite

Role = Literal["subject", "reference", "full-precision", "replay", "background"]
"""What a request is for. `full-precision` is the target before it was quantised, decoding plainly. `replay` asks the
reference again, for the noise floor; `background` is sampled traffic that runs beside the subject's requests, on its
engine, and never enters a test."""

Api = Literal["completions", "chat"]
Speculation = Literal["draft", "lookup", "none"]
ROLES: tuple[Role, ...] = ("subject", "reference", "full-precision")
"""Those that have an engine of their own."""

PLAIN: tuple[Role, ...] = ("reference", "full-precision")
"""Those that decode plainly."""

_ASKS: Mapping[Role, Role] = {"replay": "reference", "background": "subject"}


def engine_of(role: Role) -> Role:
    """Return the role whose engine is asked."""
    return _ASKS.get(role, role)


class Arm(Record, frozen=True, kw_only=True):
    """An engine in a role. Holds no secret: addresses are recorded without user names, keys and queries."""

    role: Role
    engine: str
    """`reference`, `mutant:NAME`, `openai`, …"""
    endpoint: str | None = None
    model: str | None = None
    api: Api = "completions"
    """Which of the two interfaces of an endpoint is asked."""
    stream: bool = False
    """Answers are asked for as streams."""
    tokenizer: str | None = None
    """Path of the file whose tokenizer turns text into tokens where the endpoint tells none."""
    world: str | None = None
    """What an embedded decoder decodes: a target with its drafter."""
    target: str | None = None
    """Path of the model that an engine in process loads."""
    draft: str | None = None
    """Path of its draft model."""
    speculation: Speculation | None = None
    """Where an engine in process gets its drafts from."""
    draft_tokens: int | None = None
    """Drafts per step of an engine in process."""


class Plan(Record, frozen=True, kw_only=True):
    """The header: everything that decides what will be asked, and how it will be judged."""

    version: int = FORM_VERSION
    tool: str
    """Version of specaudit that made the plan."""
    created: str
    """UTC time, ISO 8601."""
    suite: Suite
    suite_file: str = ""
    """Path that the suite was read from, as it was typed; empty for one that goes by its name."""
    checks: tuple[str, ...]
    """Ids of the selected checks, in the order they run."""
    required: tuple[str, ...]
    """Ids of the checks that must conform for exit code 0."""
    arms: tuple[Arm, ...]
    metrics: str | None = None
    """Address of the subject's metrics page."""
    replicas: tuple[str, ...] = ()
    """Addresses of the metrics pages of its other replicas, where several answer for the subject."""
    alpha: float
    """Error budget of the whole audit."""
    seed: int
    concurrency: int
    """Requests in flight at once."""
    segment: Segment = "all"
    """The part of completions whose tokens are judged; everything that was answered is recorded."""
    limits: Limits = UNLIMITED
    """What the audit may cost, and how fast it may ask, unless it is resumed with others."""

    @property
    def pages(self) -> tuple[str, ...]:
        """What the metrics pages are called in evidence: nothing where there is one, else their addresses.

        Addresses that differ only in what is not recorded of them, such as a query, are numbered.
        """
        if self.metrics is None or not self.replicas:
            return ("",)
        return told_apart((self.metrics, *self.replicas))

    def arm(self, role: Role) -> Arm | None:
        """Return the arm in that role, or None where the audit has none."""
        return next((arm for arm in self.arms if arm.role == role), None)


def told_apart(addresses: Sequence[str]) -> tuple[str, ...]:
    """Number the addresses that there are several of."""
    seen = [addresses[: i + 1].count(address) for i, address in enumerate(addresses)]
    return tuple(
        address if count == 1 else f"{address} ({count})" for address, count in zip(addresses, seen, strict=True)
    )


class PlannedRequest(Record, frozen=True, kw_only=True):
    """A request, the arm it goes to, and the index of its prompt within the stage."""

    arm: Role
    prompt_index: int
    request: Request

    @property
    def engine(self) -> Role:
        """The role whose engine is asked."""
        return engine_of(self.arm)


class Stage(Record, frozen=True, kw_only=True):
    """A batch of requests that is planned and recorded as one.

    Requests within a block run concurrently; blocks run one after the other, so that counters can be read
    between them while the engine is quiet. A request's place in the stage is its slot, counted over all blocks.
    """

    name: str
    """`CHECK` or `CHECK.part`; `FAMILY.part` where the checks of a family share it."""
    blocks: tuple[tuple[PlannedRequest, ...], ...]
    scrape: bool = False
    """Read the subject's counters before the first block and after each block."""
    concurrency: int | None = None
    """Requests in flight at once, never more than the plan's; the plan's unless given."""
    rate: float | None = None
    """Requests a second, each sent at its time whether those before are answered or not; None keeps a number of them in
    flight instead."""
    prompts: tuple[Prompt, ...] = ()
    """The prompts that its requests share, by their index; a request then holds what it has behind the shared one.

    Long prompts are recorded once and not with every request.
    """

    @property
    def size(self) -> int:
        """How many requests it has."""
        return sum(map(len, self.blocks))

    def slots(self) -> tuple[PlannedRequest, ...]:
        """Return the planned requests of all blocks in order, whole; the index of each is its slot."""
        return tuple(self.whole(planned) for block in self.blocks for planned in block)

    def whole(self, planned: PlannedRequest) -> PlannedRequest:
        """Return a request of a block with its prompt."""
        if not self.prompts:
            return planned
        shared, own = self.prompts[planned.prompt_index], planned.request.prompt
        prompt = shared if not own or isinstance(shared, str) or isinstance(own, str) else shared + own
        request = msgspec.structs.replace(planned.request, prompt=prompt)
        return msgspec.structs.replace(planned, request=request)
