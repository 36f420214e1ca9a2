import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from specaudit.stats.evalues.contexts import ContextTable
from specaudit.stats.evalues.dictionary import Dictionary, alternatives_for
from specaudit.stats.evalues.slack import check_slack, hidden_tv, largest_mean


@given(st.integers(0, 10_000), st.floats(1e-4, 1.5))
def test_the_divisor_is_the_largest_mean_over_the_band(seed, slack):
    rng = np.random.default_rng(seed)
    law, bet = rng.dirichlet(np.ones(5)), rng.gamma(0.5, size=5)
    bounds = [(p * np.exp(-slack), p * np.exp(slack)) for p in law]
    worst = linprog(-bet, A_eq=np.ones((1, 5)), b_eq=[1], bounds=bounds)
    assert largest_mean(bet, law, slack) == pytest.approx(-worst.fun, rel=1e-9)


def test_it_is_affine_in_the_bet():
    rng = np.random.default_rng(0)
    law, odds = rng.dirichlet(np.ones(6), size=4), rng.gamma(1, size=(4, 6))
    np.testing.assert_allclose(largest_mean(0.7 + 0.3 * odds, law, 0.1), 0.7 + 0.3 * largest_mean(odds, law, 0.1))


def test_without_slack_it_is_the_mean():
    law, bet = np.array([0.2, 0.8]), np.array([3.0, 0.5])
    assert largest_mean(bet, law, 0.0) == pytest.approx(law @ bet)


def test_the_band_hides_just_that_much():
    """Of a law of many small cells, half-mass on either side, the band's edge has the TV promised."""
    slack, law = 0.3, np.full(10_000, 1e-4)
    up = np.arange(10_000) < 10_000 / (1 + np.exp(slack))
    edge = law * np.where(up, np.exp(slack), np.exp(-slack))
    assert edge.sum() == pytest.approx(1, abs=1e-4)
    assert abs(edge - law).sum() / 2 == pytest.approx(hidden_tv(slack), abs=1e-4)


def test_a_plan_that_hides_its_tolerance_is_refused():
    check_slack(0.01, length=3, tolerance=0.02)
    with pytest.raises(ValueError, match=r"hides a total variation of 0\.015 in words of 3 tokens"):
        check_slack(0.01, length=3, tolerance=0.0149)
    for bad in (-0.1, np.inf, np.nan):
        with pytest.raises(ValueError, match="finite and not negative"):
            check_slack(bad, length=1, tolerance=0.5)


def within_band(rng, p, slack):
    """A law at the border of the band about p: as much as possible is moved to cells that come first in some order."""
    order = rng.permutation(len(p))
    left = 1 / (1 + np.exp(slack))
    law = p * np.exp(-slack)
    for cell in order:
        favoured = min(p[cell], left)
        law[cell] += favoured * (np.exp(slack) - np.exp(-slack))
        left -= favoured
    return law


@pytest.mark.parametrize("slack", [0.1, 0.3])
def test_with_edge_cells_no_bet_gains_under_any_law_of_the_band(slack):
    """A token in an edge cell has the factor 1, and what is bet on the others is divided by their uncertain mass."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        edge = np.zeros((1, 6), dtype=bool)
        edge[0, rng.choice(6, 2, replace=False)] = True
        table = ContextTable(p=p[None], q=q[None], edge=edge)
        dictionary = Dictionary(alternatives_for(table), slack, edges=True)
        scored = dictionary.score(table)
        factors = np.exp(dictionary.log_factors(scored, np.arange(6), np.zeros(6, dtype=np.intp)))
        factors[edge[0]] = 1
        for _ in range(20):
            law = within_band(rng, p, slack)
            assert law.sum() == pytest.approx(1)
            assert (law @ factors <= 1 + 1e-9).all()
