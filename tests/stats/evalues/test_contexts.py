import re

import numpy as np
import pytest

from specaudit.stats.evalues.contexts import Completions, ContextTable, cells_of
from tests.stats.evalues.worlds import draw, table

HALF = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({"p": [0.5, 0.5]}, "must be [C, V]"),
        ({"p": np.empty((0, 2))}, "must be [C, V]"),
        ({"p": np.empty((2, 0))}, "must be [C, V]"),
        ({"p": HALF, "q": [[1.0]]}, "q must be [1, 2] as p is, got [1, 1]"),
        ({"p": [[0.5, 0.4]]}, "context 0: p sums to 0.9"),
        ({"p": HALF, "raw": [[1.5, -0.5]]}, "context 0: raw holds negative or NaN"),
        ({"p": [[1.0, 0.0], [np.nan, 1.0]]}, "context 1: p holds negative or NaN"),
        ({"p": HALF, "others": {"no bias": [[0.2, 0.2]]}}, "context 0: no bias sums to 0.4"),
        ({"p": HALF, "edge": np.zeros((2, 2), dtype=bool)}, "edge cells must be [1, 2]"),
    ],
)
def test_bad_laws_are_named(laws, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ContextTable(**laws)


def test_laws_off_by_rounding_are_normalised():
    assert ContextTable(p=[[0.5, 0.5 + 1e-7]]).p.sum() == pytest.approx(1, abs=1e-15)


def test_one_cell_is_a_law_too():
    assert ContextTable(p=[[1.0]]).p.tolist() == [[1.0]]


def test_tokens_find_their_cells_in_a_compact_table():
    listed = [[900, 7, 30, -1], [7, 900, -1, -1]]
    cells = cells_of(listed, [0, 0, 0, 0, 1, 1, 1, 1], [7, 900, 30, 8, 7, 900, 30, 10**6])
    assert cells.tolist() == [1, 0, 2, 4, 0, 1, 4, 4]
    with pytest.raises(ValueError, match="token -1 is not a token"):
        cells_of(listed, [0], [-1])


WHOLE = {
    "context": np.zeros(3, dtype=int),
    "cell": np.zeros(3, dtype=int),
    "uniform": np.zeros(3),
    "lengths": np.array([1, 2]),
    "lost": np.array([0, 0]),
    "groups": np.array([1, 1]),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": np.array([], dtype=int)}, "no completion to fold"),
        ({"cell": np.zeros(2, dtype=int)}, "completions of 3 tokens need"),
        ({"lengths": np.array([4, -1])}, "not negative"),
        ({"lost": np.array([0, -2])}, "not negative"),
        ({"lost": np.array([0])}, "must both be [R]"),
        ({"groups": np.array([1])}, "sum to 2 completions"),
        ({"groups": np.array([2, 0])}, "at least 1 each"),
        ({"uniform": np.array([0.1, 1.0, 0.2])}, "not in [0, 1)"),
        ({"uniform": np.array([0.1, np.nan, 0.2])}, "not in [0, 1)"),
    ],
)
def test_bad_completions_are_named(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Completions(**(WHOLE | change))


def test_spans_cut_between_groups_and_lose_nothing():
    whole = draw(table().p, np.random.default_rng(0), 30, 5, groups=[1, 4, 2, 8, 15], lost=np.arange(30))
    for most in (1, 12, 70, 1000):
        spans = whole.spans(most)
        for name in ("context", "cell", "uniform", "lengths", "lost", "groups"):
            joined = np.concatenate([getattr(span, name) for span in spans])
            np.testing.assert_array_equal(joined, getattr(whole, name))
    assert len(whole.spans(1)) == 5
    assert len(whole.spans(1000)) == 1
