"""Prompts with power: candidates are tried in a stage of their own, and the best of them are asked."""

import msgspec
import pytest

from specaudit.audit.suites import parse_suite
from specaudit.calibrate import drive as stages
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.powered import STAGE, Candidate, candidates, prompts_for, told, trial_stage
from specaudit.model.errors import UsageError
from specaudit.model.limits import Limits
from specaudit.model.request import Sampling
from specaudit.model.suite import PromptSettings
from tests.checks.drive import engine
from tests.model.builders import plan

SETTINGS = LawSettings(tolerance=0.3, sampling=Sampling(top_k=4), choices=8, prompts=2, pilot=100, max_completions=200)


def driven(*, spoil=lambda planned, response: response, **hidden):
    header = plan("LAW1", alpha=1e-3, metrics="in process")
    suite = msgspec.structs.replace(header.suite, prompts=PromptSettings(candidates=6))
    return stages.drive(
        EmittedLaw(),
        SETTINGS,
        msgspec.structs.replace(header, suite=suite),
        {"subject": engine(), "reference": engine(draft_tokens=0)},
        reveal=True,
        hidden={"subject": hidden, "reference": hidden},
        spoil=spoil,
    )


def untold(planned, response):
    completions = tuple(msgspec.structs.replace(one, steps=None) for one in response.completions)
    return msgspec.structs.replace(response, completions=completions, speculation=None)


@pytest.mark.parametrize("spoil", [lambda planned, response: response, untold])
def test_the_prompts_that_are_asked_are_those_that_showed_most_power(spoil):
    evidence = driven(spoil=spoil)
    tried = candidates(evidence)
    assert len({one.prompt for one in tried}) == 6
    assert all(one.rejecting is not None and 0 < one.rejecting <= 1 for one in tried)
    assert all(one.spread is not None and 0 < one.spread < 1 for one in tried)
    asked = evidence.stages["LAW1.sample.0"].prompts
    least = min(one.power for one in tried if one.prompt in asked)
    assert all(one.power <= least for one in tried if one.prompt not in asked)
    assert "chosen among 6 for power" in told(evidence)[0]


def test_what_chose_prompts_never_enters_a_test_nor_shares_a_seed():
    evidence = driven()
    seeds = {
        name: {(p.arm, p.request.seed + i) for p in stage.slots() for i in range(p.request.n)}
        for name, stage in evidence.stages.items()
    }
    assert not seeds[STAGE] & set().union(*(found for name, found in seeds.items() if name != STAGE))
    assert not any(name.startswith(STAGE) for name in evidence.parts("LAW1.sample"))


def test_what_cannot_be_seen_is_taken_for_equal():
    evidence = driven(spoil=untold, counters=False)
    assert {one.rejecting for one in candidates(evidence)} == {None}
    assert "rejections cannot be seen" in told(evidence)[0]


def test_lost_answers_leave_a_candidate_without_figures():
    evidence = driven(spoil=lambda planned, response: None, counters=False)
    assert {(one.rejecting, one.spread) for one in candidates(evidence)} == {(None, None)}


def test_a_sure_token_and_anybodys_guess_have_no_power():
    powers = [Candidate(prompt="", rejecting=0.5, spread=spread).power for spread in (0.0, 0.5, 1.0)]
    assert powers == [0.0, 0.5, 0.0]
    assert Candidate(prompt="", rejecting=0.0, spread=0.5).power == 0.0


def test_a_token_budget_leaves_room_for_few_candidates():
    header = plan("LAW1", limits=Limits(token_budget=10_000))
    suite = msgspec.structs.replace(header.suite, prompts=PromptSettings(candidates=64))
    header = msgspec.structs.replace(header, suite=suite)
    evidence = driven()
    bare = type(evidence)(entry for entry in evidence.entries if getattr(entry, "stage", None) is None)
    stage = trial_stage(header, bare, "LAW1", Sampling())
    assert stage is not None
    assert len(stage.prompts) == 3
    assert sum(p.request.max_tokens for p in stage.slots()) <= 500


def test_without_candidates_prompts_are_chosen_at_random():
    evidence = driven()
    header = plan("LAW1")
    assert trial_stage(header, evidence, "LAW1", Sampling()) is None
    bare = type(evidence)(entry for entry in evidence.entries if getattr(entry, "stage", None) is None)
    assert len(prompts_for(header, bare, 3, seed=1)) == 3
    assert candidates(bare) == []


def test_a_suite_names_sets_that_exist():
    suite = 'name = "s"\ntitle = ""\n[prompts]\nsets = ["code"]\n[checks.LAW1]\n'
    assert parse_suite(suite, "s").prompts.sets == ("code",)
    with pytest.raises(UsageError, match=r"line 4: there is no prompt set 'cod'. Did you mean 'code'"):
        parse_suite(suite.replace('"code"', '"cod"'), "s")
