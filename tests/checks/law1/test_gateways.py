"""LAW1 against engines that withhold something: a healthy one is spared, and what cannot be said is said to be so."""

import msgspec
import pytest

from specaudit.checks.interface import Budget
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import SAMPLE, TREE
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.drive import drive, engine

CHECK = EmittedLaw()
SETTINGS = LawSettings(
    tolerance=0.3,
    word_length=2,
    choices=8,
    pilot=200,
    max_completions=400,
    sampling=Sampling(temperature=0.7, top_k=2),
)
BUDGET = Budget(alpha=1e-2, delta=1e-2, seed=0)


def judged(evidence, settings=SETTINGS):
    return CHECK.judge(settings, evidence, BUDGET)


def asked(evidence):
    """The parameters that were asked for."""
    return {planned.request.sampling for stage in evidence.stages.values() for planned in stage.slots()}


def test_a_cache_that_nobody_noticed_makes_it_inconclusive():
    """Every second request gets the answer to the one before it with the same prompt."""
    kept = {}

    def cached(planned, response):
        before = kept.pop((planned.arm, planned.prompt_index), None)
        if before is None:
            kept[planned.arm, planned.prompt_index] = response
        return before or response

    evidence = drive(CHECK, SETTINGS, engine(), spoil=cached)
    finding = judged(evidence)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "gave the same answer to both requests" in finding.summary


def test_a_cache_that_probing_found_is_not_asked():
    evidence = drive(CHECK, SETTINGS, engine(), repeats="always")
    assert not evidence.stages
    finding = judged(evidence)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "as a cache does" in finding.summary


def test_what_is_refused_is_not_asked_for():
    evidence = drive(CHECK, SETTINGS, engine(), refused=("top_k",))
    assert asked(evidence) == {Sampling(temperature=0.7)}
    finding = judged(evidence)
    assert finding.verdict is not Verdict.VIOLATES
    assert any("top_k cannot be sent" in note for note in finding.notes)


@pytest.mark.parametrize("temperature", ["default", "ignored"])
def test_a_law_at_an_unknown_temperature_is_compared_by_samples_only(temperature):
    evidence = drive(CHECK, SETTINGS, engine(), temperature=temperature)
    assert asked(evidence) == {Sampling(top_k=2)}
    assert not evidence.parts(TREE)
    finding = judged(evidence)
    assert finding.verdict is not Verdict.VIOLATES
    assert {view.law.partition(",")[0] for view in finding.views} == {"sampled"}
    assert any("the one parameter not under control" in note for note in finding.notes)


def test_a_temperature_that_only_one_arm_has_under_control_cannot_be_compared():
    evidence = drive(CHECK, SETTINGS, engine())
    (probe,) = (entry for entry in evidence.entries if getattr(entry, "role", None) == "reference")
    fixed = msgspec.structs.replace(
        probe, capabilities=msgspec.structs.replace(probe.capabilities, temperature="default")
    )
    entries = [fixed if entry is probe else entry for entry in evidence.entries]
    finding = judged(type(evidence)(entries))
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "cannot be asked for the same law" in finding.summary


def test_a_law_that_may_be_asked_for_is_scored():
    evidence = drive(CHECK, SETTINGS, engine())
    assert evidence.parts(TREE)
    assert evidence.parts(SAMPLE)
