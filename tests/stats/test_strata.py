import re

import numpy as np
import pytest

from specaudit.stats.strata import check_counts, check_laws, paired, sampled


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "no stratum"),
        ([3, 4], "stratum 0 has 0 axes"),
        ([[1, 2], []], "stratum 1 has no cell"),
        ([[1, -2]], "not counts"),
        ([[1, 0.5]], "not counts"),
        ([[1, np.nan]], "not counts"),
        ([[1, np.inf]], "not counts"),
    ],
)
def test_bad_counts_are_named(counts, message):
    with pytest.raises(ValueError, match=message):
        check_counts(counts)


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ([[0.5, 0.5], [1.0]], "1 strata of counts but 2 laws"),
        ([[1.0]], "counts of shape (2,) but a law of shape (1,)"),
        ([[1.5, -0.5]], "negative or NaN"),
        ([[np.nan, 1.0]], "negative or NaN"),
        ([[0.5, 0.4]], "sums to 0.9, not to 1"),
    ],
)
def test_bad_laws_are_named(laws, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_laws(laws, check_counts([[1, 2]]))


def test_a_law_off_by_rounding_is_normalised():
    (law,) = check_laws([[0.5, 0.5 + 1e-7]], check_counts([[1, 2]]))
    assert law.sum() == pytest.approx(1, abs=1e-15)


def test_strata_without_draws_are_passed_over():
    assert len(sampled([[0, 0], [1, 2]], [[0.5, 0.5]] * 2)) == 1
    assert len(paired([[0, 0], [1, 2], [1, 2]], [[1, 2], [1, 2], [0, 0]])) == 1


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ValueError, match="no draws"):
        sampled([[0, 0]], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="no stratum in which both arms"):
        paired([[0, 0]], [[1, 1]])


def test_arms_must_share_their_cells():
    with pytest.raises(ValueError, match="arms differ"):
        paired([[1, 2]], [[1, 2, 3]])
    with pytest.raises(ValueError, match="second arm: stratum 0"):
        paired([[1, 2]], [[1, -2]])


def test_ragged_strata_keep_their_lengths():
    assert [len(row) for row in check_counts([[1], [1, 2, 3]])] == [1, 3]
