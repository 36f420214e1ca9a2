"""The lines of `evidence.jsonl`, in the order in which an audit writes them.

Every line carries the SHA-256 of the line before it, so the last line's digest covers the whole file.
"""

from typing import Literal

import msgspec

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.law import RevealedLaw
from specaudit.model.limits import NOTHING, Limits, Spending
from specaudit.model.plan import Plan, Role, Stage
from specaudit.model.record import Record

NO_PREVIOUS = "0" * 64
"""What the first line carries in place of a digest."""


class Entry(Record, frozen=True, kw_only=True, tag_field="kind"):
    """A line of evidence."""

    previous: str = ""
    """SHA-256 (hex) of the bytes of the line before, without its line feed."""


class PlanEntry(Entry, frozen=True, kw_only=True, tag="plan"):
    """The plan's header; always the first line."""

    plan: Plan
    digest: str


class ProbeEntry(Entry, frozen=True, kw_only=True, tag="probe"):
    """What probing an arm found, and what was asked and answered to find it."""

    role: Role
    capabilities: Capabilities
    exchanges: tuple[str, ...] = ()
    spent: Spending = NOTHING


class LawEntry(Entry, frozen=True, kw_only=True, tag="law"):
    """The exact law that an engine in process reveals about itself."""

    role: Role
    law: RevealedLaw


class StageEntry(Entry, frozen=True, kw_only=True, tag="stage"):
    """A planned stage, written before its first request is sent."""

    stage: Stage
    digest: str


class Failure(Record, frozen=True, kw_only=True):
    """Why an attempt gave no usable answer."""

    reason: Literal["connect", "timeout", "status", "protocol", "given up"]
    """`given up` says nothing of the engine: collecting ended while it was working."""
    message: str
    status: int | None = None
    """HTTP status, where there was one."""
    retry_after: float | None = None
    """Seconds after which the engine wants to be asked again, where it says so."""
    lost: bool
    """The engine may have generated something that was then lost; asking again would choose among draws."""


class AttemptEntry(Entry, frozen=True, kw_only=True, tag="attempt"):
    """One attempt at one slot of a stage: an answer or a failure."""

    stage: str
    slot: int
    number: int
    """1 for the first attempt at this slot."""
    started: str
    """UTC time, ISO 8601."""
    seconds: float
    response: Response | None = None
    failure: Failure | None = None


class SnapshotEntry(Entry, frozen=True, kw_only=True, tag="snapshot"):
    """One reading of the subject's metrics page, raw."""

    stage: str
    block: int
    """Number of blocks of the stage that had ended when the page was read."""
    taken: str
    """UTC time, ISO 8601."""
    quiet: bool
    """Two readings in a row agreed, so nothing was running."""
    page: str
    source: str = ""
    """Whose page it is, by its address, where several replicas have one each; empty where there is one page."""
    content_type: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """HTTP headers that the page came with, names in lower case, cookies left out."""
    sha256: str
    """Of the page's UTF-8 bytes."""
    failure: str | None = None
    """Why there is no page, in a sentence."""


class StopEntry(Entry, frozen=True, kw_only=True, tag="stop"):
    """Collecting ended before the plan was done; only a ResumeEntry may follow."""

    why: str
    hint: str = ""
    interrupted: bool = False
    limit: str = ""
    """The option whose limit was reached, e.g. `--max-cost`; a limit is no failure of anything."""


class ResumeEntry(Entry, frozen=True, kw_only=True, tag="resume"):
    """Collecting goes on where it was broken off: a stop before this record has no effect any more.

    Engines in process begin anew here, and engines behind an address may have been asked in between: the window of
    counters that holds this record is void by the rules for any window.
    """

    tool: str
    """Version of specaudit that goes on."""
    resumed: str
    """UTC time, ISO 8601."""
    limits: Limits | None = None
    """Limits from here on, of the whole audit; None keeps those of before."""


class SealEntry(Entry, frozen=True, kw_only=True, tag="seal"):
    """The plan was carried out to its end; always the last line of a complete audit."""

    records: int
    """Number of lines before this one."""


AnyEntry = (
    PlanEntry | ProbeEntry | LawEntry | StageEntry | AttemptEntry | SnapshotEntry | StopEntry | ResumeEntry | SealEntry
)

entry_decoder = msgspec.json.Decoder(AnyEntry)
