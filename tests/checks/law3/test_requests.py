"""What LAW3 asks for, round by round, and where it has the reference score it."""

import msgspec
import numpy as np
import pytest

from specaudit.checks.law3.requests import SAMPLE, sample_groups, sample_stage, scorable, score_stage
from specaudit.checks.law3.settings import DepthSettings
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import PlanEntry, ProbeEntry, StageEntry
from specaudit.model.evidence import Evidence
from specaudit.model.record import digest
from specaudit.model.request import Sampling
from tests.model.builders import answer, attempt, plan

SETTINGS = DepthSettings(
    tolerance=0.2, max_tokens=40, least_completions=16, choices=4, blocks=4, sampling=Sampling(top_k=2)
)
HEADER = plan("LAW3")
PROMPT = (5, 6, 7)
"""Tokens of whatever was asked."""


def evidence(*entries, **reveals):
    found = {"engine": "test", "tokens": "ids", "token_prompts": True, "logprobs": 20, "max_choices": 64, **reveals}
    probes = [
        ProbeEntry(role=role, capabilities=Capabilities(**found, counters=role == "subject"))
        for role in ("subject", "reference")
    ]
    return Evidence([PlanEntry(plan=HEADER, digest=digest(HEADER)), *probes, *entries])


def rounds(settings=SETTINGS, how="exact", **reveals):
    """All rounds of the sample, none of them answered."""
    entries = []
    while (stage := sample_stage(HEADER, settings, evidence(*entries, **reveals), how)) is not None:
        entries.append(StageEntry(stage=stage, digest=""))
    return [entry.stage for entry in entries]


def answered(stage, token=0, lost=()):
    """Every completion is as long as was asked, of one token."""

    def response(request):
        told = answer(*[[token] * request.max_tokens] * request.n)
        return msgspec.structs.replace(told, prompt_token_ids=PROMPT)

    return [
        attempt(stage.name, slot, None if slot in lost else response(planned.request))
        for slot, planned in enumerate(stage.slots())
    ]


def test_rounds_double_and_end_with_the_whole_sample():
    found = rounds()
    assert [stage.name for stage in found] == [f"{SAMPLE}.{number}" for number in range(SETTINGS.blocks)]
    sizes = np.cumsum([stage.size for stage in found])
    assert sizes[1:] / sizes[:-1] == pytest.approx([2, 2, 2], rel=0.2)
    assert all(stage.scrape for stage in found)


def test_every_range_of_depths_gets_the_completions_it_needs():
    asked = [planned.request for stage in rounds() for planned in stage.slots()]
    for group in sample_groups(HEADER, SETTINGS, "exact"):
        reached = sum(request.n for request in asked if request.max_tokens == group.depths.end)
        assert group.completions <= reached < group.completions + SETTINGS.choices


def test_no_seed_is_drawn_with_twice_and_prompts_take_turns():
    slots = [planned for stage in rounds() for planned in stage.slots()]
    seeds = [planned.request.seed + i for planned in slots for i in range(planned.request.n)]
    assert len(set(seeds)) == len(seeds)
    assert [planned.prompt_index for planned in slots] == [i % SETTINGS.prompts for i in range(len(slots))]


def test_an_engine_that_gives_one_choice_is_asked_more_often():
    assert {planned.request.n for stage in rounds(max_choices=1) for planned in stage.slots()} == {1}


def test_prompts_are_as_long_as_is_asked():
    (first, *_) = rounds(msgspec.structs.replace(SETTINGS, prompt_tokens=50))
    assert all(len(prompt) >= 50 for prompt in first.prompts)


@pytest.mark.parametrize("how", ["single", "drawn"])
def test_places_to_score_lie_in_the_range_and_depend_on_nothing_that_was_drawn(how):
    stage = rounds(how=how)[0]
    ones, twos = (
        scorable(HEADER, SETTINGS, evidence(StageEntry(stage=stage, digest=""), *answered(stage, token)), how, 0)
        for token in (1, 2)
    )
    places = [[place.depth for place in one.places] for one in ones]
    assert sum(map(len, places)) > 50
    assert places == [[place.depth for place in one.places] for one in twos]
    wanted = {group.depths.end: group for group in sample_groups(HEADER, SETTINGS, how)}
    for one, depths in zip(ones, places, strict=True):
        group = wanted[len(one.places[0].tokens)]
        assert len(set(depths)) == group.scored
        assert all(group.depths.first <= depth < group.depths.end for depth in depths)


def test_a_completion_that_was_lost_is_lost_at_every_place_that_was_chosen_for_it():
    stage = rounds(how="single")[0]
    whole, part = (
        scorable(
            HEADER, SETTINGS, evidence(StageEntry(stage=stage, digest=""), *answered(stage, lost=lost)), "single", 0
        )
        for lost in ((), (0,))
    )
    gone = stage.slots()[0].request.n
    assert len(whole) > gone
    assert [one.lost for one in part[:gone]] == [tuple(place.depth for place in one.places) for one in whole[:gone]]
    assert part[gone:] == whole[gone:]


def test_by_teacher_forcing_a_completion_is_scored_in_one_request():
    stage = rounds(how="forced")[0]
    seen = evidence(StageEntry(stage=stage, digest=""), *answered(stage), scores_prompts=True, logprobs_mode="raw")
    scoring = score_stage(HEADER, SETTINGS, seen, "forced")
    assert scoring is not None
    assert scoring.name == "LAW3.score.0"
    assert scoring.size == sum(planned.request.n for planned in stage.slots())
    assert all(planned.arm == "reference" for planned in scoring.slots())
    first = scoring.slots()[0].request
    assert (first.max_tokens, first.logprobs, first.score_from) == (1, 3, len(PROMPT))


def test_where_nothing_came_back_nothing_is_scored():
    stage = rounds(how="single")[0]
    seen = evidence(StageEntry(stage=stage, digest=""), *answered(stage, lost=range(stage.size)))
    assert score_stage(HEADER, SETTINGS, seen, "single") is None


@pytest.mark.parametrize(("how", "more"), [("exact", False), ("drawn", False), ("forced", True), ("single", True)])
def test_tolerance_is_set_aside_for_edges_where_logprobs_tell_the_law(how, more):
    aside = msgspec.structs.replace(SETTINGS, edges=0.1)
    needed = [sum(group.completions for group in sample_groups(HEADER, one, how)) for one in (SETTINGS, aside)]
    assert (needed[1] > needed[0]) == more
