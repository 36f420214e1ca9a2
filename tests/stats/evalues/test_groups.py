import numpy as np
import pytest

from specaudit.stats.evalues.contexts import Completions
from specaudit.stats.evalues.groups import group_log_values


def completions(lengths, lost, groups):
    tokens = int(np.sum(lengths))
    zeros = np.zeros(tokens, dtype=int)
    return Completions(
        context=zeros,
        cell=zeros,
        uniform=np.zeros(tokens),
        lengths=np.array(lengths),
        lost=np.array(lost),
        groups=np.array(groups),
    )


FACTORS = np.log(np.array([[2.0, 1.0], [3.0, 0.5], [0.5, 4.0], [5.0, 1.0]]))


def test_a_completion_multiplies_and_a_group_averages():
    values = group_log_values(FACTORS, np.zeros(2), completions([2, 1, 1], [0, 0, 0], [2, 1]))
    np.testing.assert_allclose(np.exp(values), [[(6 + 0.5) / 2, (0.5 + 4) / 2], [5, 1]])


def test_a_lost_token_costs_the_smallest_factor():
    floor = np.log([0.5, 0.1])
    values = group_log_values(FACTORS, floor, completions([2, 0, 2], [1, 2, 0], [1, 1, 1]))
    np.testing.assert_allclose(np.exp(values), [[3, 0.05], [0.25, 0.01], [2.5, 4]])


def test_the_floor_may_change_from_group_to_group():
    floor = np.log([[0.5, 0.5], [0.2, 1.0]])
    values = group_log_values(FACTORS[:2], floor, completions([1, 1], [1, 1], [1, 1]))
    np.testing.assert_allclose(np.exp(values), [[1, 0.5], [0.6, 0.5]])


def test_infinite_evidence_stays_infinite():
    factors = FACTORS.copy()
    factors[0] = np.inf
    values = group_log_values(factors, np.zeros(2), completions([2, 1, 1], [0, 1, 0], [2, 1]))
    assert np.isinf(values[0]).all()
    assert np.isfinite(values[1]).all()


def test_nothing_received_is_no_evidence():
    values = group_log_values(np.zeros((0, 2)), np.log([0.5, 0.1]), completions([0, 0], [0, 1], [1, 1]))
    assert np.exp(values).tolist() == [[1, 1], pytest.approx([0.5, 0.1])]
