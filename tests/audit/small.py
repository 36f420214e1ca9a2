"""A small audit for tests in which the engine is not the point, and hand-made plans and stages."""

from collections.abc import Sequence
from pathlib import Path

from specaudit.audit.audit import Audit
from specaudit.audit.suites import load_suite
from specaudit.model.plan import Arm, Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Request, Sampling
from specaudit.model.suite import Suite

SMALL = Path(__file__).with_name("small.toml")


def small_audit(out: Path, **options: object) -> Audit:
    """The embedded decoder under the small suite."""
    return Audit(**{"suite": load_suite(str(SMALL)), "out": out, **options})  # type: ignore[arg-type]


def made_plan(**changes: object) -> Plan:
    """A plan with a subject and a reference and no check."""
    fields = {
        "tool": "0",
        "created": "2026-01-01T00:00:00+00:00",
        "suite": Suite(name="none", title="no checks", checks={}),
        "checks": (),
        "required": (),
        "arms": (
            Arm(role="subject", engine="reference", draft_tokens=3),
            Arm(role="reference", engine="reference", draft_tokens=0),
        ),
        "alpha": 0.01,
        "seed": 0,
        "concurrency": 4,
    }
    return Plan(**(fields | changes))  # type: ignore[arg-type]


def made_stage(blocks: Sequence[int], *, arm: Role = "subject", name: str = "T1", scrape: bool = False) -> Stage:
    """A stage of one arm with so many requests in each block; the seed of each tells its slot."""
    slots = iter(range(sum(blocks)))
    return Stage(
        name=name,
        blocks=tuple(tuple(planned(next(slots), arm) for _ in range(size)) for size in blocks),
        scrape=scrape,
    )


def planned(slot: int, arm: Role = "subject") -> PlannedRequest:
    """A request for two tokens."""
    return PlannedRequest(
        arm=arm,
        prompt_index=0,
        request=Request(prompt=(0, 1), sampling=Sampling(), seed=slot, n=1, max_tokens=2),
    )
