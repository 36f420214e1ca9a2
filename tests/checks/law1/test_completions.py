"""LAW1 over all words of a completion: cheaper than by depth, at every level at which the law can be known."""

import msgspec
import numpy as np
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.forced import hidden_at_edges, how_bounded
from specaudit.checks.law1.pooled import bins_of, needed_known
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import SAMPLE, SCORE, TREE, TRUST
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.drive import drive, engine

CHECK = EmittedLaw()
SETTINGS = LawSettings(
    tolerance=0.12, bound="completions", word_length=2, pilot=128, choices=8, sampling=Sampling(top_k=4)
)
LEVELS = {
    "exact": ({"reveal": True}, "exact"),
    "scored": ({}, "scored"),
    "sampled": ({"logprobs": 0, "logprobs_mode": "unknown", "scores_prompts": False}, "sampled"),
}


def judge(evidence, settings=SETTINGS):
    return CHECK.judge(settings, evidence, budget_of(evidence.plan, CHECK.id))


@pytest.mark.parametrize("level", LEVELS)
def test_a_healthy_decoder_conforms_on_average_over_a_completion(level):
    how, law = LEVELS[level]
    evidence = drive(CHECK, SETTINGS, engine(), **how)
    finding = judge(evidence)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert "On average over a completion" in finding.summary
    assert finding.views[0].law == law
    assert finding.views[0].name.endswith("anywhere in a completion")
    assert finding.effect == finding.views[0].effect
    assert any("all words of a completion are bounded together" in one for one in finding.assumptions)


@pytest.mark.parametrize("level", LEVELS)
def test_a_replacement_drawn_from_the_target_violates(level):
    finding = judge(drive(CHECK, SETTINGS, engine("resid-from-target"), **LEVELS[level][0]))
    assert finding.verdict is not Verdict.CONFORMS
    if level != "sampled":
        assert finding.verdict is Verdict.VIOLATES
        assert finding.betting is not None
        assert finding.betting.rejected_after is not None
        assert finding.betting.rejected_after < 2000


def test_whole_completions_are_scored_round_by_round_and_the_references_own_first():
    evidence = drive(CHECK, SETTINGS, engine())
    assert not evidence.parts(TREE)
    assert evidence.stages[TRUST].size == 128
    for number, name in enumerate(evidence.parts(SAMPLE)):
        slots = evidence.stages[name].slots()
        assert {planned.arm for planned in slots} == {"subject"}
        scored = evidence.stages[f"{SCORE}.{number}"].slots()
        assert len(scored) == sum(planned.request.n for planned in slots)
        assert all(planned.request.max_tokens == 1 for planned in scored)


def misreported(planned, response):
    """Scores of another law than the reference draws from."""
    if response.scores is None:
        return response
    told = []
    for position in response.scores:
        values = np.array([value + (1.5 if token == 2 else 0.0) for token, value in position.top])
        values -= np.log(np.exp(values).sum())
        top = sorted(zip([token for token, _ in position.top], values.tolist(), strict=True), key=lambda one: -one[1])
        told.append(msgspec.structs.replace(position, top=tuple(top)))
    return msgspec.structs.replace(response, scores=tuple(told))


def test_scores_that_the_references_own_words_contradict_accuse_nobody():
    settings = msgspec.structs.replace(SETTINGS, tolerance=0.2)
    evidence = drive(CHECK, settings, engine(), spoil=misreported)
    assert TRUST in evidence.stages
    assert not evidence.parts(SCORE)
    finding = judge(evidence, settings)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.views[0].law == "sampled"


def test_lost_scores_widen_the_bound():
    lost = iter(range(10_000))

    def spoil(planned, response):
        return None if response.scores is not None and planned.arm == "reference" and next(lost) % 10 == 9 else response

    settings = msgspec.structs.replace(SETTINGS, tolerance=0.2)
    whole, holed = (judge(drive(CHECK, settings, engine(), spoil=one), settings) for one in (lambda _, r: r, spoil))
    assert whole.verdict is Verdict.CONFORMS
    assert holed.verdict is Verdict.INCONCLUSIVE
    assert holed.effect is not None
    assert holed.effect.high > whole.effect.high + 0.05


def copying(planned, response):
    """Every choice is the first one."""
    return msgspec.structs.replace(response, completions=response.completions[:1] * len(response.completions))


@pytest.mark.parametrize("bound", ["depths", "completions"])
@pytest.mark.parametrize("level", LEVELS)
def test_an_engine_that_copies_choices_never_violates(level, bound):
    settings = msgspec.structs.replace(SETTINGS, bound=bound, tolerance=0.3, max_completions=800)
    finding = judge(drive(CHECK, settings, engine(), spoil=copying, **LEVELS[level][0]), settings)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "copies" in finding.summary


@pytest.mark.parametrize("bound", ["depths", "completions"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_cache_of_whole_responses_never_violates(level, bound):
    kept = {}

    def cached(planned, response):
        return kept.setdefault((planned.arm, planned.prompt_index, planned.request.n), response)

    settings = msgspec.structs.replace(SETTINGS, bound=bound, tolerance=0.3, max_completions=800)
    spoil = {"exact": cached, "sampled": cached}.get(level, lambda p, r: cached(p, r) if p.request.n > 1 else r)
    finding = judge(drive(CHECK, settings, engine(), spoil=spoil, **LEVELS[level][0]), settings)
    assert finding.verdict is Verdict.INCONCLUSIVE


def test_chat_without_prompt_tokens_learns_the_law_from_the_pilots_own_logprobs():
    settings = msgspec.structs.replace(SETTINGS, tolerance=0.3, pilot=400)
    evidence = drive(CHECK, settings, engine(), token_prompts=False, scores_prompts=False)
    assert not evidence.parts(TREE)
    assert {planned.request.logprobs for planned in evidence.stages["LAW1.pilot"].slots()} == {4}
    depths = msgspec.structs.replace(settings, bound="depths")
    finding = judge(drive(CHECK, depths, engine(), token_prompts=False, scores_prompts=False), depths)
    assert finding.views[0].law == "scored"
    assert finding.verdict is Verdict.CONFORMS, finding.summary


@pytest.mark.parametrize(("length", "bins"), [(1, 64), (2, 8), (3, 4), (4, 2), (6, 2), (8, 2)])
def test_words_fall_into_at_most_64_cells_unless_they_are_long(length, bins):
    assert bins_of(LawSettings(word_length=length, tolerance=0.2)) == bins


def test_fewer_completions_are_needed_than_by_depth():
    completions = needed_known(LawSettings(tolerance=0.02, word_length=3), 16, hidden=0.0, delta=1e-3, success=0.9)
    assert completions * 17 < 150_000  # each token and its score


@pytest.mark.parametrize(("top_k", "how", "law"), [(2, "sampled", "sampled"), (3, "forced", "scored")])
def test_where_edge_tokens_may_hide_too_much_the_references_own_words_are_held_against(top_k, how, law):
    settings = msgspec.structs.replace(SETTINGS, sampling=Sampling(top_k=top_k), tolerance=0.3)
    evidence = drive(CHECK, settings, engine())
    hidden = hidden_at_edges(evidence, settings)
    assert (hidden > settings.tolerance / 3) == (how == "sampled")
    assert how_bounded(settings, evidence) == how
    finding = judge(evidence, settings)
    assert finding.verdict is Verdict.CONFORMS, finding.summary
    assert finding.views[0].law.startswith(law)
    assert (finding.effect.high > hidden) == (how == "forced")


def test_who_knows_the_rounding_of_an_engine_hides_less():
    settings = msgspec.structs.replace(SETTINGS, sampling=Sampling(top_k=2), tolerance=0.2, rounding=0.01)
    evidence = drive(CHECK, settings, engine())
    assert hidden_at_edges(evidence, settings) < 0.01
    assert how_bounded(settings, evidence) == "forced"
    finding = judge(evidence, settings)
    assert "two passes over the same weights differ by at most 0.01 nats where filters cut" in finding.assumptions
