"""SED3: engines that emit the target's own draws, and those that do not."""

import msgspec
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.sed3 import PAIRS, PILOT, Coupled, CouplingSettings
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.entries import PlanEntry, ProbeEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm
from specaudit.mutants import registry
from tests.checks.drive import drive, engine

CHECK = Coupled()
SETTINGS = CouplingSettings(prompts=32, max_tokens=32, tolerance=0.2, pilot=32, pilot_tokens=6)
DECLARED = msgspec.structs.replace(SETTINGS, coupling="declared", max_tokens=16)
BRIEF = CouplingSettings(prompts=8, max_tokens=4, pilot=16, pilot_tokens=6)
"""Enough to see that an engine is not coupled."""


def coupled(world=MARKOV4, draft_tokens=3):
    return ReferenceEngine(registry.get_control("sampler-match").build(world, draft_tokens=draft_tokens))


def judged(subject, settings=SETTINGS, **changes):
    evidence = drive(CHECK, settings, subject, **changes)
    return CHECK.judge(settings, evidence, budget_of(evidence.plan, CHECK.id)), evidence


def test_an_engine_that_emits_the_targets_own_draws_conforms_and_pilots_share_nothing_with_what_is_tested():
    found, evidence = judged(coupled())
    assert found.verdict is Verdict.CONFORMS, found.summary
    assert found.coverage["bonus tokens drawn"] > 0
    assert found.measured["of them equal"] == 32
    pilot, pairs = (evidence.stages[name] for name in (PILOT, PAIRS))
    assert not set(pilot.prompts) & set(pairs.prompts)
    seeds = [{planned.request.seed for planned in stage.slots()} for stage in (pilot, pairs)]
    assert not seeds[0] & seeds[1]
    assert all(len(block) == 1 for block in pilot.blocks)


@pytest.mark.parametrize("reveal", [False, True])
def test_a_coupled_engine_with_a_fault_that_is_not_everywhere_violates(reveal):
    settings = msgspec.structs.replace(SETTINGS, pilot=48, max_tokens=48)
    found, _ = judged(engine("bonus-coin-reused"), settings, reveal=reveal)
    assert found.verdict is Verdict.VIOLATES, found.summary
    assert found.witness is not None
    assert found.statistic.p_value <= found.alpha


def test_one_with_a_fault_at_every_rejection_is_not_seen_to_be_coupled_unless_it_is_declared():
    found, evidence = judged(engine("match-then-redraw"), BRIEF)
    assert found.verdict is Verdict.NOT_APPLICABLE
    # Nothing of the pilot decides whether the pairs are collected.
    assert PAIRS in evidence.stages
    found, evidence = judged(engine("match-then-redraw"), DECLARED)
    assert found.verdict is Verdict.VIOLATES, found.summary
    assert PILOT not in evidence.stages
    assert judged(coupled(), DECLARED)[0].verdict is Verdict.CONFORMS


@pytest.mark.parametrize("subject", ["reference", "resid-from-target", "shared-stream"])
def test_rejection_sampling_is_never_accused_of_other_draws(subject):
    found, _ = judged(engine(subject), BRIEF)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "as none does that samples by rejection" in found.summary


def test_answers_that_hardly_depend_on_the_seed_show_no_coupling():
    """First tokens are equal in any engine, and in this world the rest is certain."""
    found, _ = judged(coupled(), BRIEF, spoil=certain_behind_the_first)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "hardly depend on the seed" in found.summary


def certain_behind_the_first(planned, response):
    first = response.completions[0]
    certain = msgspec.structs.replace(first, tokens=(first.tokens[0], *(0 for _ in first.tokens[1:])))
    return msgspec.structs.replace(response, completions=(certain,))


def changed(share):
    """Change what the plain arm says when it is asked again, and what the subject says, as often."""
    seen = set()

    def spoil(planned, response):
        again = (planned.arm, planned.request.seed) in seen
        seen.add((planned.arm, planned.request.seed))
        noisy = planned.request.max_tokens == SETTINGS.max_tokens and planned.prompt_index % share == 0
        if not noisy or (planned.arm == "reference" and not again):
            return response
        first = response.completions[0]
        other = msgspec.structs.replace(first, tokens=(*first.tokens[:-1], (first.tokens[-1] + 1) % 4))
        return msgspec.structs.replace(response, completions=(other,))

    return spoil


def test_what_differs_between_two_runs_of_the_plain_target_is_noise():
    found, _ = judged(coupled(), msgspec.structs.replace(SETTINGS, coupling="declared"), spoil=changed(2))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.effect.value == found.measured["of them different"] / 32 == 0.5


def test_a_subject_that_drafts_nothing_says_nothing_of_the_verifier():
    found, _ = judged(coupled(draft_tokens=0), msgspec.structs.replace(DECLARED, max_tokens=4))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "decodes plainly" in found.summary


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [({"refused": ("seed",)}, "refuses requests with a seed"), ({"repeats": "always"}, "answers from a cache")],
)
def test_without_seeds_there_is_nothing_to_couple(hidden, reason):
    found, evidence = judged(coupled(), **hidden)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert reason in found.summary
    assert not evidence.stages


def test_lost_answers_say_nothing():
    found, _ = judged(coupled(), BRIEF, spoil=lambda planned, response: None)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_the_endpoint_itself_is_no_plain_arm():
    _, collected = judged(coupled(), BRIEF, spoil=lambda planned, response: None)
    evidence = Evidence([one for one in collected.entries if isinstance(one, PlanEntry | ProbeEntry)])
    itself = Arm(role="reference", engine="openai", endpoint="http://x/v1")
    header = msgspec.structs.replace(evidence.plan, arms=(msgspec.structs.replace(itself, role="subject"), itself))
    assert CHECK.next_stage(evidence.plan, BRIEF, evidence) is not None
    assert CHECK.next_stage(header, BRIEF, evidence) is None
