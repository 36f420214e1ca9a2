"""LAW3 and LAW4 where completions end by themselves, and where a server loses some by what was drawn.

What is measured over 2,000 audits by `tests.benchmarks.calibration_lengths` is looked at here in few.
"""

import numpy as np
import pytest

from specaudit.checks.copies import between_choices
from specaudit.checks.interface import Budget
from specaudit.checks.law3.check import LawByDepth
from specaudit.checks.law4 import Independence, IndependenceSettings
from specaudit.model.finding import Verdict
from tests.checks.law3.lengths import CHAIN, EOS, LOSSES, SETTINGS, answers, evidence, hiding, sample

LAW3, LAW4 = LawByDepth(), Independence()
FEW = IndependenceSettings(requests=64, prompts=1)
BUDGET = Budget(alpha=0.05, delta=0.05, seed=0)


@pytest.mark.parametrize("eos_told", [True, False])
def test_completions_that_end_by_themselves_accuse_nobody(eos_told):
    """Of 40 audits at .05 more than 8 alarms have a probability below 1e-3; one that hides its ends had 40."""
    rng = np.random.default_rng(0)
    found = [
        LAW3.judge(SETTINGS, evidence("LAW3.sample.0", sample(rng, 40), eos_told=eos_told), BUDGET) for _ in range(40)
    ]
    assert sum(one.verdict is Verdict.VIOLATES for one in found) <= 8


def test_an_end_that_is_not_told_is_a_token_that_is_not_scored():
    rng = np.random.default_rng(1)
    drawn = sample(rng, 60)
    told, hidden = (
        LAW3.judge(SETTINGS, evidence("LAW3.sample.0", drawn, eos_told=eos_told), BUDGET) for eos_told in (True, False)
    )
    ends = sum(tokens[-1] == EOS and len(tokens) < asked for asked, tokens in drawn)
    capped = sum(tokens[-1] == EOS and len(tokens) == asked for asked, tokens in drawn)
    assert hidden.measured["tokens scored"] == told.measured["tokens scored"] - ends - capped
    assert told.betting is not None
    assert hidden.betting is None or hidden.betting.tokens < told.betting.tokens


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_by_what_was_drawn_enter_the_bounds_and_accuse_nobody(loss):
    rng = np.random.default_rng(2)
    for _ in range(8):
        drawn = sample(rng, 60)
        finding = LAW3.judge(SETTINGS, evidence("LAW3.sample.0", drawn, lost=LOSSES[loss](rng)), BUDGET)
        assert finding.verdict is Verdict.INCONCLUSIVE
        assert finding.effect is not None
        assert finding.effect.high > SETTINGS.tolerance


def test_a_server_that_loses_what_shows_its_fault_is_not_acquitted():
    """Its surviving tokens look right; what it lost is as large as what it hides."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        drawn, lost = hiding(rng, 200)
        finding = LAW3.judge(SETTINGS, evidence("LAW3.sample.0", drawn, lost=lost), BUDGET)
        assert finding.verdict is not Verdict.CONFORMS
        assert all(view.effect.high > SETTINGS.tolerance for view in finding.views if view.name == "tokens 1 to 3")


@pytest.mark.parametrize("loss", [None, *LOSSES])
def test_law4_takes_no_loss_for_copies(loss):
    """Of 30 audits at .05 more than 7 alarms have a probability below 1e-3."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(30):
        lost = {} if loss is None else {"lost": LOSSES[loss](rng)}
        alarms += LAW4.judge(FEW, evidence("LAW4", answers(rng, 256), choices=4, **lost), BUDGET).verdict is (
            Verdict.VIOLATES
        )
    assert alarms <= 7


def test_losing_requests_whose_choices_differ_is_no_copying():
    """What is left looks as if choices were copied now and then, for nothing but what was lost."""
    rng = np.random.default_rng(5)

    def lost(rows):
        return rows[0] != rows[1] and bool(rng.random() < 0.97)

    draws = evidence("LAW4", answers(rng, 8192), choices=4, lost=lost).draws("LAW4")["subject"]
    assert between_choices(draws).p_value < 0.02
    assert between_choices(draws, lost=draws.planned - len(draws.tokens)).p_value > 0.5


def test_copies_are_told_in_spite_of_a_few_losses():
    rng = np.random.default_rng(6)
    copied = [row for row in answers(rng, 64) for _ in range(4)]
    losing = iter(range(64))
    finding = LAW4.judge(FEW, evidence("LAW4", copied, choices=4, lost=lambda rows: next(losing) % 20 == 3), BUDGET)
    assert finding.verdict is Verdict.VIOLATES
    assert "copies" in finding.summary


def test_the_chain_ends_and_its_laws_are_laws():
    np.testing.assert_allclose(CHAIN.sum(axis=1), 1)
    lengths = [len(tokens) for _, tokens in answers(np.random.default_rng(7), 200)]
    assert 5 < np.mean(lengths) < 14
