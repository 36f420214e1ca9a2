import numpy as np
import pytest

from specaudit.checks.interface import POWER, Budget
from specaudit.checks.whole_sample import both_p, detectable, round_ends, sample_alpha
from specaudit.model.finding import Betting
from specaudit.model.suite import SequentialSettings
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.power import detectable_tv

WITH_BETS, FIXED = SequentialSettings(), SequentialSettings(fixed_n=True)


def test_each_round_is_as_large_as_all_before_it():
    assert round_ends(64, 4) == [0, 8, 16, 32, 64]
    assert round_ends(60, 4, turn=6) == [0, 12, 18, 30, 60]
    assert round_ends(1, 6) == [0, 1]
    assert round_ends(0, 6) == [0]


def test_bets_and_sample_share_the_budget():
    budget = Budget(alpha=0.01, delta=0.01, seed=0)
    assert (sample_alpha(WITH_BETS, budget), sample_alpha(FIXED, budget)) == (0.005, 0.01)
    earned = Betting(log_e=5.0, p_value=0.007, tokens=9, rejected_after=4, leader="b")
    assert both_p(WITH_BETS, earned, 0.5) == pytest.approx(0.014)
    assert both_p(WITH_BETS, earned, 0.001) == pytest.approx(0.002)


def test_whether_anything_could_be_bet_on_is_known_too_late_to_give_the_sample_more():
    assert both_p(WITH_BETS, None, 0.001) == pytest.approx(0.002)
    assert both_p(FIXED, None, 0.001) == 0.001


def test_what_a_test_detects_follows_from_its_size():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(1000, [0.25] * 4)
    test = goodness_of_fit([counts], [np.full(4, 0.25)], draws=10, rng=rng)
    assert detectable(test, 1e-3) == detectable_tv(1000, 3, alpha=1e-3, power=POWER)
    nothing = goodness_of_fit([np.array([1000])], [np.ones(1)], draws=10, rng=rng)
    assert detectable(nothing, 1e-3) == 1.0
