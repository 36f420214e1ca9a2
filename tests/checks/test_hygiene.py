"""Seeds over all that is planned: choices never share one, and arms only where a check wants them to."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from specaudit.audit import estimate as estimates
from specaudit.audit.audit import Audit
from specaudit.audit.estimate import Level, estimate
from specaudit.audit.suites import load_suite, shipped
from specaudit.calibrate.matrix import QUICK
from specaudit.checks import registry
from specaudit.model.entries import AttemptEntry
from specaudit.model.evidence import Evidence
from specaudit.model.plan import PlannedRequest, Stage
from specaudit.model.suite import Suite
from tests.model.builders import planned as planned_request

SERVERS = {"endpoint": "http://subject.example/v1", "metrics": "http://subject.example/metrics"}
REFERENCE = {"reference": "http://reference.example/v1"}

WAYS: dict[str, tuple[dict[str, str], Level]] = {
    "in process": ({}, "exact"),
    "scored": (SERVERS | REFERENCE, "scored"),
    "sampled": (SERVERS | REFERENCE, "sampled"),
    "itself": (SERVERS | {"reference": "self"}, "scored"),
    "alone": (SERVERS, "sampled"),
}

Planned = tuple[str, PlannedRequest]
"""A request with the stage that it belongs to."""


def couples(stage: str) -> bool:
    """Whether the check that plans a stage asks two arms alike; a stage that a family shares is of none that does."""
    check = stage.partition(".")[0]
    return check in registry.locations() and registry.get(check).couples_arms


def meetings(planned: Iterable[Planned]) -> list[tuple[Planned, Planned]]:
    """Requests of which one has a seed of the other, though not for the very same request of the same engine."""
    ordered = sorted(planned, key=lambda one: (one[1].request.seed, one[1].request.n))
    wrong = []
    for one, other in pairwise(ordered):
        first, second = one[1].request, other[1].request
        if second.seed >= first.seed + first.n:
            continue
        alike = first == second and one[0].partition(".")[0] == other[0].partition(".")[0]
        if not (alike and (one[1].engine == other[1].engine or couples(one[0]))):
            wrong.append((one, other))
    return wrong


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Suite, str, Path], list[Planned]]:
    """Plan as an estimate does, and return all stages."""

    def call(suite: Suite, way: str, out: Path) -> list[Planned]:
        stages: dict[str, Stage] = {}

        class Watched(Evidence):
            def __init__(self, entries: Iterable[object]) -> None:
                super().__init__(entries)
                stages.update(self.stages)

        monkeypatch.setattr(estimates, "Evidence", Watched)
        options, level = WAYS[way]
        estimate(Audit(suite=suite, out=out, **options), level=level)
        return [(name, one) for name, stage in stages.items() for one in stage.slots()]

    return call


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suite", shipped())
def test_no_shipped_suite_uses_a_seed_twice(
    watched: Callable[[Suite, str, Path], list[Planned]],
    monkeypatch: pytest.MonkeyPatch,
    suite: str,
    way: str,
    tmp_path: Path,
) -> None:
    """What does not depend on answers, which would have to be decoded."""

    async def unanswered(engine: object, stage: Stage) -> list[AttemptEntry]:
        return []

    monkeypatch.setattr(estimates, "_answers", unanswered)
    planned = watched(load_suite(suite), way, tmp_path)
    # The third arm of LAW6 is in process, or named.
    assert planned or way in ("itself", "alone") or (suite == "fp8" and way != "in process")
    assert not meetings(planned)
    assert all(0 <= one.request.seed <= one.request.seed + one.request.n <= 2**31 for _, one in planned)


@pytest.mark.parametrize("way", ["in process", "scored"])
def test_no_check_uses_a_seed_twice_in_all_its_stages(
    watched: Callable[[Suite, str, Path], list[Planned]], way: str, tmp_path: Path
) -> None:
    checks = {check: dict(QUICK.get(check, {})) for check in registry.locations()}
    planned = watched(Suite(name="all", title="", checks=checks), way, tmp_path)
    assert {name.partition(".")[0] for name, _ in planned} >= {"SED1", "SED2", "LAW4"}
    assert not meetings(planned)


def test_seeds_that_meet_are_seen() -> None:
    one, two = (planned_request(n=4), planned_request("reference", n=4))
    assert not meetings([("LAW4", one), ("LAW4", moved(one, 4))])
    assert meetings([("LAW4", one), ("LAW4", moved(one, 3))])
    assert meetings([("LAW4", one), ("LAW1", one)])
    assert meetings([("LAW1", one), ("LAW1", two)])
    assert not meetings([("SED1", one), ("SED1", one)])
    assert not meetings([("SED3.pairs", one), ("SED3.pairs", two)])


def moved(planned: PlannedRequest, by: int) -> PlannedRequest:
    return replace(planned, request=replace(planned.request, seed=planned.request.seed + by))
