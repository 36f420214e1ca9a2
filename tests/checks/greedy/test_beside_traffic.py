"""GRD1 beside traffic: faults that show only there, what is right there too, and what was not looked at."""

import pytest

from specaudit.model.entries import StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.suite import Background
from tests.checks.greedy.driven import TRAFFIC, audited, finding

GRD1 = {"GRD1": {"prompts": 30, "max_tokens": 8, "tolerance": 0.25}}


def views(found):
    return {view.name.split(":")[0]: view.name.split(": ")[1] for view in found.views}


@pytest.mark.parametrize("level", ["exact", "scored"])
@pytest.mark.parametrize("mutant", ["greedy-sentinel-mismatch", "uninitialised-parameters"])
def test_faults_that_show_only_beside_traffic(mutant, level):
    found = finding(audited(f"mutant:{mutant}", GRD1, level=level, traffic=TRAFFIC), "GRD1")
    assert found.verdict is Verdict.VIOLATES
    assert views(found) == {"alone": "conforms", "beside traffic": "violates"}
    assert found.summary.startswith(
        "Alone: all 30 greedy completions equal the plain target's, token for token. Beside"
    )
    assert found.measured["hard divergences"] == 0 < found.measured["beside traffic: hard divergences"]


@pytest.mark.parametrize("mutant", ["greedy-sentinel-mismatch", "uninitialised-parameters"])
def test_alone_nothing_is_seen_of_them(mutant):
    found = finding(audited(f"mutant:{mutant}", GRD1), "GRD1")
    assert found.verdict is Verdict.CONFORMS
    assert any("not looked at: the suite declares no background" in assumed for assumed in found.assumptions)


@pytest.mark.parametrize("subject", ["reference", "control:sampler-match", "control:async-scheduling"])
def test_what_is_right_is_right_beside_traffic_too(subject):
    found = finding(audited(subject, GRD1, traffic=TRAFFIC), "GRD1")
    assert found.verdict is Verdict.CONFORMS
    assert found.coverage["requests beside traffic"] == 30
    assert views(found) == {"alone": "conforms", "beside traffic": "conforms"}


def test_traffic_is_not_judged():
    """A decoder that takes the argmax of sampled requests is wrong, and greedy requests do not show it."""
    found = finding(audited("mutant:sampled-request-greedy", GRD1, traffic=TRAFFIC), "GRD1")
    assert found.verdict is Verdict.CONFORMS


def test_without_traffic_in_flight_beside_it_does_not_conform():
    evidence = audited("reference", GRD1, traffic=TRAFFIC)
    roles = {name: [one.arm for one in stage.slots()] for name, stage in evidence.stages.items()}
    without = [
        entry
        for entry in evidence.entries
        if entry.__class__ is StageEntry
        or roles.get(getattr(entry, "stage", None), {0: 0})[getattr(entry, "slot", 0)] != "background"
    ]
    found = finding(Evidence(without), "GRD1")
    assert found.verdict is Verdict.INCONCLUSIVE


def test_one_request_at_a_time_has_no_company():
    found = finding(audited("reference", GRD1, traffic=Background(), concurrency=1), "GRD1")
    assert found.verdict is Verdict.CONFORMS
    assert any("one at a time" in assumed for assumed in found.assumptions)


@pytest.mark.parametrize(
    ("mutant", "told"),
    [
        ("draft0-unverified", "is gone without drafts and does not move with their number"),
        ("kv-off-by-one", "is gone without drafts and moves with their number in"),
    ],
)
def test_a_sweep_over_the_number_of_drafts_tells_where_a_divergence_lies(mutant, told):
    checks = {"GRD1": {"prompts": 12, "max_tokens": 12}}
    found = finding(audited(f"mutant:{mutant}", checks, level="scored"), "GRD1")
    assert any("K-sweep over" in note and told in note for note in found.notes)


def test_a_divergence_that_needs_no_drafts_of_its_own_is_told_as_such():
    found = finding(audited("mutant:greedy-sentinel-mismatch", GRD1, traffic=TRAFFIC), "GRD1")
    assert any("without any drafts of their own" in note for note in found.notes)
