"""LAW3 from its first stage to its verdict, at every level at which the target's law can be known."""

import msgspec
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.law3.check import LawByDepth
from specaudit.checks.law3.settings import DepthSettings
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm
from specaudit.model.request import Sampling
from tests.checks.drive import drive, engine

CHECK = LawByDepth()
SETTINGS = DepthSettings(tolerance=0.12, max_tokens=40, least_completions=16, choices=8)
LEVELS = {
    "exact": {"reveal": True},
    "single": {},
    "drawn": {"logprobs": 0, "logprobs_mode": "unknown"},
}
ROUNDS = DepthSettings(tolerance=0.4, max_tokens=8, prompts=1, choices=4, least_completions=8, blocks=3)


def judge(evidence, settings=SETTINGS):
    return CHECK.judge(settings, evidence, budget_of(evidence.plan, CHECK.id))


@pytest.mark.parametrize("level", ["exact", "single"])
def test_a_healthy_decoder_conforms_where_the_law_is_known(level):
    finding = judge(drive(CHECK, SETTINGS, engine(), **LEVELS[level]))
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert [view.name for view in finding.views] == [
        "tokens 1 to 3",
        "tokens 4 to 16",
        "tokens 17 to 40",
        "step position 1",
        "step position 2",
        "step position 3",
        "bonus row",
        "undrafted step",
        "first token after a step that rejected",
    ]
    assert {view.law for view in finding.views} == {"exact" if level == "exact" else "scored"}
    assert finding.coverage["steps that rejected a draft"] > 100
    assert finding.betting is not None
    assert finding.betting.rejected_after is None


def test_plain_decoding_is_bounded_and_says_nothing_of_the_verifier():
    settings = msgspec.structs.replace(SETTINGS, tolerance=0.3)
    finding = judge(drive(CHECK, settings, engine(draft_tokens=0), reveal=True), settings)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.effect.high < settings.tolerance
    assert finding.summary == (
        f"At every depth up to 40 tokens the binned law of single tokens is within total variation "
        f"{finding.effect.high:.3f} of the target's, but this says nothing of the verifier: the subject decodes "
        "plainly, so nothing was drafted."
    )


def test_without_logprobs_a_healthy_decoder_conforms_by_draws_in_the_same_contexts():
    settings = msgspec.structs.replace(SETTINGS, tolerance=0.25)
    finding = judge(drive(CHECK, settings, engine(), **LEVELS["drawn"]), settings)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert {view.law for view in finding.views} == {"sampled in context"}
    assert finding.effect is not None
    assert finding.effect.name == "total variation in at most 16 cells of tokens"
    assert "draws in the same contexts" in finding.notes[0]


@pytest.mark.parametrize(("level", "most"), [("exact", 2000), ("single", 2500), ("drawn", 6000)])
def test_a_replacement_drawn_from_the_target_is_shown_by_bets(level, most):
    finding = judge(drive(CHECK, SETTINGS, engine("resid-from-target"), **LEVELS[level]))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.betting is not None
    assert finding.betting.rejected_after is not None
    assert finding.betting.rejected_after <= most
    assert finding.witness is not None


def test_the_sample_ends_when_enough_was_earned():
    healthy, faulty = (drive(CHECK, SETTINGS, engine(name), reveal=True) for name in ("reference", "resid-from-target"))
    assert len(faulty.parts("LAW3.sample")) < len(healthy.parts("LAW3.sample")) == SETTINGS.blocks


def test_the_classical_design_tests_the_whole_sample_once():
    settings = msgspec.structs.replace(SETTINGS, fixed_n=True, tolerance=0.05)
    finding = judge(drive(CHECK, settings, engine("resid-from-target"), reveal=True), settings)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.betting is None
    assert finding.effect is not None
    assert 0 < finding.effect.low < finding.effect.high


def test_plain_decoding_exercises_no_verifier():
    finding = judge(drive(CHECK, SETTINGS, engine(draft_tokens=0), reveal=True))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the subject decodes plainly" in finding.summary


def test_a_lost_score_ends_the_bets_and_widens_the_bounds():
    lost = iter(range(10_000))

    def spoil(planned, response):
        return None if planned.arm == "reference" and next(lost) % 4 == 1 else response

    whole = judge(drive(CHECK, SETTINGS, engine()))
    finding = judge(drive(CHECK, SETTINGS, engine("resid-from-target"), spoil=spoil))
    assert finding.betting is None or finding.betting.rejected_after is None
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.effect is not None
    assert whole.effect is not None
    assert finding.effect.high > whole.effect.high + 0.2


def test_places_to_score_are_planned_before_the_tokens_are_known():
    ours, theirs = (drive(CHECK, SETTINGS, engine(name)) for name in ("reference", "reuse-uniform"))
    depths = [
        [len(planned.request.prompt) for planned in evidence.stages["LAW3.score.0"].slots()]
        for evidence in (ours, theirs)
    ]
    assert depths[0] == depths[1]


def test_a_reference_that_cannot_be_asked_in_context_is_not_applicable():
    finding = judge(drive(CHECK, SETTINGS, engine(), token_prompts=False))
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "behind a prefix" in finding.summary


def test_an_endpoint_may_be_its_own_reference_and_the_finding_says_what_that_shows():
    evidence = drive(CHECK, SETTINGS, engine(), reveal=True)
    arms = tuple(Arm(role=role, engine="openai", endpoint="http://x/v1") for role in ("subject", "reference"))
    head = msgspec.structs.replace(evidence.entries[0], plan=msgspec.structs.replace(evidence.plan, arms=arms))
    finding = judge(type(evidence)([head, *evidence.entries[1:]]))
    assert finding.verdict is Verdict.CONFORMS
    assert "not that the target is the one that was promised" in finding.assumptions[0]


def test_judging_twice_gives_the_same():
    evidence = drive(CHECK, SETTINGS, engine(), reveal=True)
    assert judge(evidence) == judge(evidence)


@pytest.mark.parametrize(
    "on", [{"presence_penalty": 1.5}, {"frequency_penalty": 0.5}, {"repetition_penalty": 1.5}, {"grammar": "(ab|c)*"}]
)
@pytest.mark.parametrize("level", ["single", "drawn"])
def test_what_looks_back_is_not_asked_behind_a_prefix(on, level):
    """Engines count some penalties over what they said, and to them a prefix is prompt: a healthy one was accused."""
    settings = msgspec.structs.replace(SETTINGS, sampling=Sampling(**on))
    evidence = drive(CHECK, settings, engine(), **LEVELS[level])
    finding = judge(evidence, settings)
    assert finding.verdict is Verdict.NOT_APPLICABLE, finding.summary
    assert "look back at the tokens before" in finding.summary
    assert not evidence.stages


def test_in_process_a_penalty_is_judged_by_the_law_behind_its_own_history():
    settings = msgspec.structs.replace(SETTINGS, sampling=Sampling(presence_penalty=1.5))
    assert judge(drive(CHECK, settings, engine(), reveal=True), settings).verdict is Verdict.CONFORMS


@pytest.mark.parametrize("level", ["exact", "single", "drawn", "forced"])
@pytest.mark.parametrize("lost", ["first", "last"])
def test_a_round_that_is_lost_as_a_whole_is_lost_and_not_asked_for_again(level, lost):
    """Nothing of it can be scored, so that no stage scores it; it ends nothing, and is left out of no bound."""
    told = LEVELS.get(level, {"scores_prompts": True})
    whole = drive(CHECK, ROUNDS, engine(), **told)
    rounds = [stage for name, stage in whole.stages.items() if name.startswith("LAW3.sample")]
    gone = {planned.request.seed for planned in rounds[0 if lost == "first" else -1].slots()}

    def spoil(planned, response):
        return None if planned.arm == "subject" and planned.request.seed in gone else response

    evidence = drive(CHECK, ROUNDS, engine(), spoil=spoil, **told)
    assert [name for name in evidence.stages if name.startswith("LAW3.sample")] == [one.name for one in rounds]
    effects = {view.name: view.effect for view in judge(evidence, ROUNDS).views}
    for view in judge(whole, ROUNDS).views:
        if view.name.startswith("tokens") and view.effect.high < 1:  # where no law is told there is no bound
            assert effects[view.name].high > view.effect.high
