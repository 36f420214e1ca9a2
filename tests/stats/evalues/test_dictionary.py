import numpy as np
import pytest

from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import ContextTable
from specaudit.stats.evalues.dictionary import Dictionary, alternatives_for, given
from tests.stats.evalues.worlds import table


def factors(laws, slack=0.0):
    """Log factors of every bet on every cell `[C, V, J]`."""
    dictionary = Dictionary(alternatives_for(laws), slack)
    contexts, cells = laws.p.shape
    entry = np.arange(contexts * cells)
    logs = dictionary.log_factors(dictionary.score(laws), entry, entry // cells)
    return dictionary, logs.reshape(contexts, cells, -1)


def test_there_are_at_most_fifty_bets_each_with_a_name():
    dictionary = Dictionary(alternatives_for(table(raw=True)), 0.0)
    assert 25 < len(dictionary.names) == len(set(dictionary.names)) <= 50


def test_faults_weigh_more_than_directions():
    dictionary = Dictionary(alternatives_for(table(raw=True)), 0.0)
    weight = dict(zip(dictionary.names, dictionary.weights, strict=True))
    assert sum(weight.values()) == pytest.approx(1)
    assert weight["unverified ×0.9"] == pytest.approx(3 * weight["lean +0.2 to q ×0.9"])


def test_what_is_bet_on_follows_from_what_is_known():
    laws = table(raw=True)
    alone = Dictionary(alternatives_for(ContextTable(p=laws.p)), 0.0).names
    drafted = Dictionary(alternatives_for(ContextTable(p=laws.p, q=laws.q)), 0.0).names
    whole = Dictionary(alternatives_for(ContextTable(p=laws.p, q=laws.q, raw=laws.raw, others={"no bias": laws.q})), 0)
    assert set(alone) < set(drafted) < set(whole.names)
    assert set(whole.names) - set(drafted) == {
        f"{name} ×{stake}" for name in ("target-unwarped", "no bias") for stake in (0.9, 0.3)
    }


def test_a_bet_is_a_likelihood_ratio():
    laws = table()
    dictionary, logs = factors(laws)
    stake = dict(zip(dictionary.names, np.moveaxis(logs, 2, 0), strict=True))
    mixed = 0.1 * laws.p + 0.9 * alternatives.residual_from_target(laws.p, laws.q)
    np.testing.assert_allclose(stake["resid-from-target ×0.9"], np.log(mixed / laws.p))
    mixed = 0.7 * laws.p + 0.3 * laws.q
    np.testing.assert_allclose(stake["unverified ×0.3"], np.log(mixed / laws.p))
    np.testing.assert_allclose((laws.p[..., None] * np.exp(logs)).sum(axis=1), 1)


@pytest.mark.parametrize("slack", [0.01, 0.3])
def test_over_the_band_no_bet_gains_and_the_worst_law_loses_nothing(slack):
    laws = table()
    _, logs = factors(laws, slack)
    means = np.zeros((len(laws.p), logs.shape[2]))
    rng = np.random.default_rng(1)
    orders = [np.argsort(-logs[..., j], axis=1) for j in range(logs.shape[2])]
    orders += [rng.permuted(np.tile(np.arange(6), (12, 1)), axis=1) for _ in range(20)]
    for order in orders:
        p = np.take_along_axis(laws.p, order, axis=1)
        up = np.clip(1 / (1 + np.exp(slack)) - (p.cumsum(axis=1) - p), 0, p)
        corner = np.empty_like(p)
        np.put_along_axis(corner, order, np.exp(slack) * up + np.exp(-slack) * (p - up), axis=1)
        means = np.maximum(means, (corner[..., None] * np.exp(logs)).sum(axis=1))
    np.testing.assert_allclose(means, 1, rtol=1e-12)


def test_nothing_is_bet_on_edge_cells_and_the_rest_is_conditional():
    plain = table(others={"no bias": table(seed=3).p})
    edge = np.zeros(plain.p.shape, dtype=bool)
    edge[0, 2:4] = True
    laws = ContextTable(p=plain.p, q=plain.q, others=plain.others, edge=edge)
    _, logs = factors(laws)
    assert not logs[0, 2:4].any()
    inside = plain.p[0] * ~edge[0]
    inside /= inside.sum()
    np.testing.assert_allclose((inside[:, None] * np.exp(logs[0])).sum(axis=0), 1)
    np.testing.assert_allclose(logs[1:], factors(plain)[1][1:], atol=1e-12)


def test_a_context_that_is_all_edge_bets_nothing():
    laws = ContextTable(p=[[0.5, 0.5]], q=[[0.9, 0.1]], edge=np.ones((1, 2), dtype=bool))
    assert not factors(laws)[1].any()


def test_a_context_of_one_cell_bets_nothing():
    assert not factors(ContextTable(p=[[1.0]], q=[[1.0]]))[1].any()


@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_no_factor_is_below_its_floor(slack):
    laws = ContextTable(p=[[0.4, 0.3, 0.3 - 1e-9, 1e-9]], q=[[0.1, 0.0, 0.2, 0.7]], raw=[[0.0, 0.0, 0.0, 1.0]])
    dictionary, logs = factors(laws, slack)
    assert (logs >= dictionary.floor).all()
    assert logs.min() == pytest.approx(dictionary.floor.min(), abs=0.1 + slack)


def test_laws_given_a_set():
    laws, cells = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]), np.array([[True, False, True], [False, True, True]])
    np.testing.assert_allclose(given(laws, cells, laws), [[5 / 7, 0, 2 / 7], [1, 0, 0]])
