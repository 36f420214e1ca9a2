"""LAW1 from its first stage to its verdict, at every level at which the target's law can be known."""

import msgspec
import numpy as np
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import completion_length, known_words, prompt_contexts, word_depths
from specaudit.model.capabilities import Capabilities
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.drive import drive, engine

CHECK = EmittedLaw()
SETTINGS = LawSettings(tolerance=0.08, sampling=Sampling(top_k=4), required=True)
SMALL = LawSettings(tolerance=0.3, sampling=Sampling(top_k=4))
SAMPLED = {"logprobs": 0, "logprobs_mode": "unknown"}
MOST_TOKENS = {"exact": 3000, "scored": 20_000, "sampled": 20_000}
"""Of the subject, to a verdict: the mutants move the law by TV .07 to .3."""
LEVELS = {
    "exact": ({"reveal": True}, ["exact"] * 4),
    "scored": ({}, ["scored", "sampled", "scored", "sampled", "sampled", "sampled"]),
    "sampled": (SAMPLED, ["sampled"] * 4),
}


def judge(evidence, settings=SETTINGS):
    return CHECK.judge(settings, evidence, budget_of(evidence.plan, CHECK.id))


@pytest.mark.parametrize("level", LEVELS)
def test_a_healthy_decoder_conforms_at_every_level(level):
    how, laws = LEVELS[level]
    finding = judge(drive(CHECK, SETTINGS, engine(), **how))
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert [view.law for view in finding.views] == laws
    assert finding.coverage["steps that rejected a draft"] > 100
    assert finding.coverage["bonus tokens drawn"] > 100


def test_a_first_token_says_nothing_of_the_verifier():
    settings = LawSettings(tolerance=0.08, word_length=1, max_tokens=1, max_completions=6000)
    evidence = drive(CHECK, settings, engine("draft0-unverified"), reveal=True)
    finding = judge(evidence, settings)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.summary.endswith("but this says nothing of the verifier: nothing was drafted.")
    assert {planned.request.max_tokens for planned in evidence.stages["LAW1.sample.0"].slots()} == {1}


def test_completions_hold_a_word():
    with pytest.raises(ValueError, match="no room for a word of 3 tokens"):
        LawSettings(max_tokens=2)


@pytest.mark.parametrize("mutant", ["resid-from-target", "reuse-uniform", "draft0-unverified"])
@pytest.mark.parametrize("level", LEVELS)
def test_mutants_violate_at_every_level(level, mutant):
    finding = judge(drive(CHECK, SETTINGS, engine(mutant), **LEVELS[level][0]))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.betting is not None
    assert finding.betting.rejected_after is not None
    assert finding.betting.rejected_after < MOST_TOKENS[level]
    assert finding.witness is not None


@pytest.mark.parametrize("level", LEVELS)
def test_the_classical_design_collects_the_whole_sample_and_bounds_the_deviation(level):
    settings = msgspec.structs.replace(SETTINGS, fixed_n=True)
    finding = judge(drive(CHECK, settings, engine("resid-from-target"), **LEVELS[level][0]), settings)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.betting is None
    assert finding.effect is not None
    assert 0 < finding.effect.low < finding.effect.high


def test_a_plain_subject_was_not_exercised():
    finding = judge(drive(CHECK, SETTINGS, engine(draft_tokens=0), reveal=True, counters=False))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "says nothing of the verifier" in finding.summary


@pytest.mark.parametrize("mutant", ["reference", "bonus-in-numerator"])
def test_counters_that_cannot_be_believed_show_no_path(mutant):
    finding = judge(drive(CHECK, SETTINGS, engine(mutant), reveal=True))
    assert finding.verdict is (Verdict.CONFORMS if mutant == "reference" else Verdict.INCONCLUSIVE)


def test_the_tree_is_asked_for_level_by_level_and_scores_the_exact_law():
    evidence = drive(CHECK, SMALL, engine())
    sizes = {name: len(stage.slots()) for name, stage in evidence.stages.items() if "tree" in name}
    assert sizes == {f"LAW1.tree.{level}": 4**level for level in range(5)}
    exact = drive(CHECK, SMALL, engine(), reveal=True)
    for depth in (0, 2):
        scored = known_words(SMALL, evidence, prompt_contexts(evidence), depth)
        truth = known_words(SMALL, exact, prompt_contexts(exact), depth)
        assert scored is not None
        assert truth is not None
        assert scored.laws[0] == pytest.approx(truth.laws[0])


def test_a_hole_in_the_tree_leaves_the_words_behind_it_to_sampling():
    def spoil(planned, response):
        lost = planned.request.logprobs and planned.request.prompt[-3:] == (1, 2, 3)
        return None if lost else response

    evidence = drive(CHECK, SMALL, engine(), spoil=spoil)
    laws = [view.law for view in judge(evidence, SMALL).views]
    assert laws == ["scored", "sampled", "sampled", "sampled", "sampled"]


def misreported(planned, response):
    """Logprobs of another law than the reference draws from, as llama.cpp's are where it ignores the end."""
    if planned.request.logprobs is None:
        return response
    completion = response.completions[0]
    position = completion.logprobs[0]
    skewed = sorted(
        ((token, value + (1.0 if token == 2 else 0.0)) for token, value in position.top), key=lambda x: -x[1]
    )
    norm = np.log(sum(np.exp(value) for _, value in skewed))
    top = tuple((token, float(value - norm)) for token, value in skewed)
    position = msgspec.structs.replace(position, top=top)
    completion = msgspec.structs.replace(completion, logprobs=(position,))
    return msgspec.structs.replace(response, completions=(completion,))


def test_logprobs_of_another_law_never_accuse_a_correct_subject():
    evidence = drive(CHECK, SETTINGS, engine(), spoil=misreported)
    assert len([name for name in evidence.stages if "tree" in name]) == 5
    finding = judge(evidence)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert [view.law for view in finding.views] == ["sampled"] * 4
    assert judge(drive(CHECK, SETTINGS, engine("resid-from-target"), spoil=misreported)).verdict is Verdict.VIOLATES


@pytest.mark.parametrize(("subject", "words"), [("none", "reveals no single tokens"), ("texts", "different forms")])
def test_arms_whose_tokens_cannot_be_compared_cost_nothing(subject, words):
    evidence = drive(CHECK, SETTINGS, engine(), subject_tokens=subject)
    assert not evidence.stages
    finding = judge(evidence)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert words in finding.summary


def test_a_tree_that_is_too_large_is_not_begun():
    settings = msgspec.structs.replace(SMALL, max_contexts=20)
    assert not [name for name in drive(CHECK, settings, engine()).stages if "tree" in name]


def test_the_pilot_never_enters_the_test():
    evidence = drive(CHECK, SMALL, engine())
    seeds = {}
    for name, stage in evidence.stages.items():
        for planned in stage.slots():
            request = planned.request
            seeds.setdefault(name, set()).update(range(request.seed, request.seed + request.n))
    rounds = evidence.parts("LAW1.sample")
    drawn = set().union(*(seeds[name] for name in rounds))
    assert not seeds["LAW1.pilot"] & drawn
    requests = [planned.request for name in rounds for planned in evidence.stages[name].slots()]
    assert len(drawn) == sum(request.n for request in requests)  # no seed is used twice


def test_an_engine_that_gives_few_choices_is_asked_more_often():
    few = drive(CHECK, SMALL, engine(), reveal=True, max_choices=3)
    many = drive(CHECK, SMALL, engine(), reveal=True)
    assert max(planned.request.n for planned in few.stages["LAW1.sample.0"].slots()) == 3
    wanted = [len(e.draws(*e.parts("LAW1.sample"))["subject"].tokens) for e in (few, many)]
    assert abs(wanted[0] - wanted[1]) < 64


def test_fewer_classes_than_tokens_are_said():
    settings = msgspec.structs.replace(SMALL, classes=2)
    finding = judge(drive(CHECK, settings, engine(), **SAMPLED), settings)
    assert finding.views[0].law == "sampled, 2 classes a token"
    assert any("within a class stays unseen" in assumption for assumption in finding.assumptions)
    caught = judge(drive(CHECK, settings, engine("resid-from-target"), **SAMPLED), settings)
    assert caught.views[0].statistic.degrees_of_freedom <= 7


def test_several_prompts_have_a_histogram_each():
    settings = msgspec.structs.replace(SMALL, prompts=3)
    finding = judge(drive(CHECK, settings, engine(), reveal=True), settings)
    assert finding.views[0].statistic.degrees_of_freedom > 63  # more than one prompt can have
    assert judge(drive(CHECK, settings, engine("resid-from-target"), reveal=True), settings).verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    ("drafts", "length", "depths"),
    [(3, 16, (0, 2, 8, 13)), (5, 24, (0, 4, 12, 21)), (0, 4, (0, 1)), (None, 16, (0, 2, 8, 13))],
)
def test_words_reach_the_bonus_row_and_beyond(drafts, length, depths):
    subject = Capabilities(engine="x", draft_tokens=drafts)
    assert completion_length(SETTINGS, subject) == length
    assert word_depths(SETTINGS, subject) == depths


def test_a_prompt_whose_pilot_was_lost_is_not_taken_for_compared():
    def spoil(planned, response):
        return None if planned.prompt_index == 1 and planned.request.n > 1 and planned.arm == "reference" else response

    settings = msgspec.structs.replace(SMALL, prompts=2, max_completions=2000)
    finding = judge(drive(CHECK, settings, engine(), spoil=spoil, **SAMPLED), settings)
    assert finding.verdict is Verdict.INCONCLUSIVE


def test_independent_choices_on_several_prompts_are_no_copies():
    settings = msgspec.structs.replace(SMALL, prompts=4, sampling=Sampling(temperature=0.15, top_k=4), tolerance=0.5)
    finding = judge(drive(CHECK, settings, engine(), reveal=True), settings)
    assert "copies" not in finding.summary
