from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.stats.covering import covering_array, pairs

MATRIX = [4, 3, 2, 2, 4, 2, 2, 2]


def covered(rows):
    return {
        (first, row[first], second, row[second]) for row in rows for first, second in combinations(range(len(row)), 2)
    }


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=8))
def test_every_pair_occurs_and_nothing_else(levels):
    rows = covering_array(levels)
    assert covered(rows) == pairs(levels)
    assert rows[0] == (0,) * len(levels)
    assert rows == covering_array(levels)
    assert len(set(rows)) == len(rows)


def test_the_matrix_of_parameters_needs_few_of_its_combinations():
    assert 16 <= len(covering_array(MATRIX)) <= 20


@pytest.mark.parametrize(("levels", "rows"), [([], 1), ([3], 3), ([1, 1], 1), ([2, 2, 2], 4)])
def test_small_arrays(levels, rows):
    assert len(covering_array(levels)) == rows


def test_a_factor_without_levels_is_refused():
    with pytest.raises(ValueError, match="every factor needs a level"):
        covering_array([2, 0])
