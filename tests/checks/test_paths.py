"""Verification paths: labels that are settled before a token is drawn, and how often each was taken."""

import msgspec
import pytest

from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.paths import BONUS, UNDRAFTED, after_rejections, labels, missing, path_counts, position, steps_of
from specaudit.checks.windows import coverage
from specaudit.model.completion import Completion, Response, Steps
from specaudit.model.request import Sampling
from tests.checks.drive import drive, engine

STEPS = Steps(drafted=(0, 3, 3, 2), accepted=(0, 1, 3, 0), emitted=(1, 2, 4, 1), ragged=1, mixed=0)
SETTINGS = LawSettings(tolerance=0.3, sampling=Sampling(top_k=4), choices=8)
SAMPLE = "LAW1.sample"


def test_a_token_is_labelled_by_its_place_in_a_step_whether_it_was_accepted_or_replaced():
    first, second, third = (position(i) for i in (1, 2, 3))
    assert labels(STEPS) == [UNDRAFTED, first, second, first, second, third, BONUS, first]
    assert after_rejections(STEPS) == [False, False, False, True, False, False, False, False]


def answered(tokens, drafted, accepted, **fields):
    told = {"per_step_drafted": list(drafted), "per_step_accepted": list(accepted), **fields}
    completion = Completion(tokens=tuple(range(tokens)), finish_reason="length")
    return Response(completions=(completion,), speculation={"metrics": {"speculative_decoding": told}})


def test_steps_that_an_answer_tells_stand_behind_the_prefill_token():
    steps = steps_of(answered(6, (3, 3), (1, 2)), 0)
    assert steps == Steps(drafted=(0, 3, 3), accepted=(0, 1, 2), emitted=(1, 2, 3), ragged=0, mixed=0)


def test_a_cap_cuts_the_last_step():
    steps = steps_of(answered(5, (3, 3), (1, 2)), 0)
    assert steps is not None
    assert (steps.emitted, steps.accepted) == ((1, 2, 2), (0, 1, 2))


@pytest.mark.parametrize(
    ("tokens", "drafted", "accepted"),
    [(9, (3, 3), (1, 2)), (3, (3, 3), (1, 2)), (6, (3,), (1, 2)), (6, (3, 1), (1, 2))],
)
def test_steps_that_do_not_make_up_the_completion_are_not_believed(tokens, drafted, accepted):
    assert steps_of(answered(tokens, drafted, accepted), 0) is None


def test_the_lists_of_an_engine_whose_first_step_may_draft_are_not_laid_out():
    told = {"emitted_per_step": [[3, 1, 2]], "drafted_per_step": [[3, 3, 1]]}
    one = Response(completions=(Completion(tokens=tuple(range(6))),), speculation=told)
    assert steps_of(one, 0) is None


def test_several_choices_share_what_an_answer_tells_so_that_nothing_is_known_of_each():
    one = answered(6, (3, 3), (1, 2))
    assert steps_of(msgspec.structs.replace(one, completions=one.completions * 2), 0) is None


def counts(evidence):
    stages = evidence.parts(SAMPLE)
    taken = coverage(evidence, *stages)
    paths = path_counts(evidence, stages, taken)
    return paths, missing(evidence, stages, taken, paths)


def test_an_engine_in_process_tells_every_path():
    evidence = drive(EmittedLaw(), SETTINGS, engine(), reveal=True)
    paths, lacking = counts(evidence)
    assert not lacking
    assert None not in paths.values()
    reached = [paths[f"step position {i} reached"] for i in (1, 2, 3)]
    assert reached[0] == paths["drafted steps"] > reached[1] > reached[2] > paths["bonus tokens drawn"] > 0
    assert paths["steps after one that rejected"] <= paths["steps that rejected a draft"]
    assert paths["steps in a ragged batch"] > 0
    assert paths["requests for several choices"] > 0
    assert paths["steps beside other sampling parameters"] == 0


def without_steps(planned, response):
    told = tuple(msgspec.structs.replace(one, steps=None) for one in response.completions)
    return msgspec.structs.replace(response, completions=told, speculation=None)


def test_counters_tell_sums_and_the_rest_is_unseen():
    paths, lacking = counts(drive(EmittedLaw(), SETTINGS, engine(), reveal=True, spoil=without_steps))
    assert not lacking
    assert paths["step position 1 reached"] == paths["drafted steps"] > paths["step position 2 reached"] > 0
    assert paths["undrafted steps"] is None
    assert paths["stops inside an accepted block"] is None


def test_without_counters_what_answers_tell_is_as_good():
    paths, lacking = counts(drive(EmittedLaw(), SETTINGS, engine(), reveal=True, counters=False))
    assert not lacking
    assert paths["steps that rejected a draft"] > 0


def test_without_either_nothing_is_seen_and_that_is_said():
    evidence = drive(EmittedLaw(), SETTINGS, engine(), reveal=True, counters=False, spoil=without_steps)
    paths, lacking = counts(evidence)
    assert "cannot be seen" in lacking
    assert paths["drafted steps"] is None


def test_stops_and_caps_inside_a_block_are_counted():
    stop = Completion(
        tokens=(1, 2, 0),
        finish_reason="stop",
        steps=Steps(drafted=(0, 3), accepted=(0, 2), emitted=(1, 2), ragged=0, mixed=0),
    )
    evidence = drive(
        EmittedLaw(), SETTINGS, engine(), reveal=True, spoil=lambda planned, _: Response(completions=(stop,))
    )
    paths, _ = counts(evidence)
    requests = sum(evidence.stages[name].size for name in evidence.parts(SAMPLE))
    assert paths["stops inside an accepted block"] == requests
    assert paths["caps inside a block"] == 0
