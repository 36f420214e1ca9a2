"""What an audit is asked to be: whom, how much, and where the evidence goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specaudit.audit.events import Listener, silent
from specaudit.audit.shards import WHOLE, Shard
from specaudit.model.limits import UNLIMITED, Limits
from specaudit.model.plan import Api, Speculation
from specaudit.model.segments import Segment
from specaudit.model.suite import Suite


@dataclass(frozen=True, kw_only=True)
class Driven:
    """How an audit is driven: what its evidence does not hold, so that it is said again to go on with one."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers, as secret as the key and sent where it is sent."""
    ca_file: Path | None = None
    """Certificates, in PEM, of the authorities to trust in place of the usual ones."""
    scheduler: str | None = None
    """A Dask cluster whose workers ask the requests, each a shard of every stage."""
    shard: Shard = WHOLE
    """The part that is asked here; others ask theirs elsewhere, and the parts are merged."""
    timeout: float = 120.0
    """Seconds without a byte before an answer is given up."""
    allow_inconclusive: bool = False
    api_key: str | None = field(default=None, repr=False)
    """Sent to the endpoint, and to other addresses with the same scheme, host and port only."""
    reference_api_key: str | None = field(default=None, repr=False)
    """Sent to the reference; needed where it is elsewhere and wants a key."""
    full_precision_api_key: str | None = field(default=None, repr=False)
    """Likewise for the arm in full precision."""
    listener: Listener = silent


@dataclass(frozen=True, kw_only=True)
class Audit(Driven):
    """What to audit, how much, and where the evidence goes."""

    suite: Suite
    suite_file: str = ""
    """Path that it was read from, for commands that name it; empty for one that goes by its name."""
    out: Path
    """A folder without evidence; made if need be."""
    engine: str | None = None
    """The subject where there is no endpoint: `reference` (the default), `mutant:NAME`."""
    world: str | None = None
    """What the embedded decoder decodes; the world in which the engine is at home unless given."""
    draft_tokens: int | None = None
    """Drafts per step of a subject in process; 3 unless given."""
    target: str | None = None
    """Folder of the model that a subject in process loads; plain decoding of it is the reference."""
    draft: str | None = None
    """Folder of its draft model."""
    speculation: Speculation | None = None
    """Where its drafts come from; from the draft model if there is one, unless given."""
    endpoint: str | None = None
    reference: str | None = None
    """The same target without speculation; `self` asks the endpoint for first tokens, which are never drafted."""
    full_precision: str | None = None
    """The target before it was quantised, served plainly; in process the world that it decodes."""
    metrics: str | tuple[str, ...] | None = None
    """The subject's metrics page, or the pages of all its replicas."""
    model: str | None = None
    api: Api | None = None
    """Which interface of the endpoint and the reference is asked; `completions` unless given."""
    stream: bool | None = None
    """Ask for answers as streams."""
    tokenizer: str | None = None
    """Path of a tokenizer for endpoints that tell text and no tokens."""
    segment: Segment | None = None
    """The part of completions that is judged; all of them unless given."""
    select: tuple[str, ...] = ()
    """Run only these checks, and require each."""
    ignore: tuple[str, ...] = ()
    fixed_n: bool | None = None
    """Collect whole samples and test once; checks stop early unless given."""
    alpha: float | None = None
    """Error budget of the whole audit; the suite's unless given."""
    seed: int = 0
    concurrency: int | None = None
    """Requests in flight; the suite's unless given."""
    limits: Limits = UNLIMITED
    """What the audit may cost, and how fast it may ask."""

    @property
    def pages(self) -> tuple[str, ...]:
        """The subject's metrics pages."""
        return (self.metrics,) if isinstance(self.metrics, str) else self.metrics or ()
