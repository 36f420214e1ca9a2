"""What LAW1 concludes, from evidence made by hand."""

import numpy as np
import pytest

from specaudit.checks.interface import Budget
from specaudit.checks.law1.settings import LawSettings
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.chains import CHECK, SETTINGS, START, STEP, draw, law_evidence
from tests.checks.drive import drive, engine

BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
SCORED = LawSettings(tolerance=0.3, word_length=2, pilot=200, max_completions=400, sampling=Sampling(top_k=4))
WRONG = np.array([[0.5, 0.5], [0.35, 0.65]])


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def judge(evidence, settings=SETTINGS):
    return CHECK.judge(settings, evidence, BUDGET)


def test_a_wrong_law_violates_with_interval_and_witness(rng):
    finding = judge(law_evidence({"subject": draw(rng, 3000, START, WRONG)}, exact=True))
    assert finding.verdict is Verdict.VIOLATES
    truth = np.abs(START[:, None] * WRONG - START[:, None] * STEP).sum() / 2
    assert finding.views[0].effect.low <= truth <= finding.views[0].effect.high
    assert finding.effect is not None
    assert 0 < finding.effect.low < finding.effect.value < finding.effect.high
    assert finding.witness is not None
    assert "word '" in finding.witness.what
    assert "specaudit run" in finding.next_step


def test_a_wrong_law_violates_against_a_sampled_reference(rng):
    samples = {"subject": draw(rng, 3000, START, WRONG), "reference": draw(rng, 3000)}
    finding = judge(law_evidence(samples, exact=False, pilot=draw(rng, 400)))
    assert finding.verdict is Verdict.VIOLATES
    assert {view.law for view in finding.views} == {"sampled"}


def test_a_bounded_law_without_seen_verification_is_inconclusive_and_says_why(rng):
    finding = judge(law_evidence({"subject": draw(rng, 20_000)}, exact=True))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.effect is not None
    assert finding.effect.high < SETTINGS.tolerance
    assert "nothing was drafted" in finding.summary


def test_too_few_words_are_inconclusive_not_conforming(rng):
    finding = judge(law_evidence({"subject": draw(rng, 50)}, exact=True))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "only bounded by" in finding.summary


def test_an_impossible_word_violates_where_the_law_is_exact(rng):
    rows = draw(rng, 2000)
    rows[7, 1] = 2  # a token that the target does not have
    finding = judge(law_evidence({"subject": rows}, exact=True))
    assert finding.verdict is Verdict.VIOLATES
    assert finding.statistic is not None
    assert finding.statistic.p_value == 0
    assert finding.statistic.value is None  # infinite


def test_lost_answers_widen_the_bound_by_their_share(rng):
    rows = draw(rng, 2000)
    whole = judge(law_evidence({"subject": rows}, exact=True, choices=100))
    holed = judge(law_evidence({"subject": rows}, exact=True, choices=100, lost=20))
    assert whole.effect is not None
    assert holed.effect is not None
    assert holed.effect.high == pytest.approx(whole.effect.high + 0.5)
    assert holed.measured["subject completions lost"] == 2000


def test_a_deviation_that_losses_may_explain_does_not_violate(rng):
    rows = draw(rng, 3000, START, WRONG)
    evidence = law_evidence({"subject": rows}, exact=True, choices=100, lost=30)
    assert judge(evidence).verdict is Verdict.INCONCLUSIVE


def test_choices_that_copy_each_other_count_once(rng):
    rows = np.repeat(draw(rng, 400), 8, axis=0)
    finding = judge(law_evidence({"subject": rows}, exact=True, choices=8))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "copies" in finding.summary
    assert finding.views[0].samples == 400


def test_copies_of_a_correct_law_would_otherwise_be_called_a_violation(rng):
    """The trap that the rule above avoids: independence comes first."""
    rows = np.repeat(draw(rng, 400), 8, axis=0)
    as_if_independent = judge(law_evidence({"subject": rows}, exact=True, choices=1))
    assert as_if_independent.verdict is Verdict.VIOLATES


def test_judging_twice_gives_the_same(rng):
    evidence = law_evidence({"subject": draw(rng, 500)}, exact=True)
    assert judge(evidence) == judge(evidence)


def test_no_tokens_at_all_is_inconclusive():
    finding = judge(law_evidence({"subject": np.empty((0, 4), dtype=np.int64)}, exact=True))
    assert finding.verdict is Verdict.INCONCLUSIVE


def test_a_reference_whose_choices_are_copies_accuses_nobody(rng):
    samples = {"subject": draw(rng, 3200), "reference": np.repeat(draw(rng, 50), 64, axis=0)}
    evidence = law_evidence(samples, exact=False, pilot=draw(rng, 400), choices=64)
    finding = judge(evidence)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "choices = 1" in finding.next_step


def test_a_token_that_the_reference_never_drew_is_seen(rng):
    rows = draw(rng, 3000)
    rows[rows[:, 1] == 1, 1] = 2
    evidence = law_evidence({"subject": rows, "reference": draw(rng, 3000)}, exact=False, pilot=draw(rng, 400))
    finding = judge(evidence)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.effect is not None
    assert finding.effect.high > 0.3


def test_losses_count_also_where_choices_were_copies(rng):
    rows = np.repeat(draw(rng, 400), 8, axis=0)
    finding = judge(law_evidence({"subject": rows}, exact=True, choices=8, lost=100))
    assert finding.measured["subject completions lost"] > 0


def test_a_law_that_is_nearly_sure_of_one_word_conforms_within_its_bound(rng):
    """Next to no word but one: too few cells for a chi-square, and the share of all others is the bound."""
    sure, sure_step = np.array([0.9995, 0.0005]), np.array([[0.9995, 0.0005], [0.9995, 0.0005]])
    draws = [draw(rng, 3000, sure, sure_step) for _ in range(3)]
    pilot = draws[2][:400]
    samples = {"subject": draws[0], "reference": draws[1]}
    finding = judge(law_evidence(samples, exact=False, pilot=pilot, choices=1))
    assert finding.effect is not None
    assert finding.effect.high < 0.02
    off = draw(rng, 3000, np.array([0.8, 0.2]), sure_step)
    other = judge(law_evidence({**samples, "subject": off}, exact=False, pilot=pilot, choices=1))
    assert other.verdict is Verdict.VIOLATES
    assert max(view.effect.high for view in other.views) > 0.2


def test_the_two_samples_of_a_scored_depth_are_never_mixed_in_one_effect():
    views = judge(drive(CHECK, SCORED, engine()), SCORED).views
    place = next(i for i, view in enumerate(views) if view.law == "scored")
    scored, sampled = views[place : place + 2]
    assert (scored.name, sampled.law) == (sampled.name, "sampled")
    assert scored.effect.under_equality != sampled.effect.under_equality
    assert scored.statistic.method == "Monte Carlo"
    assert sampled.statistic.method == "permutation"
