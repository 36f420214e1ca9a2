import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.drafters.prompt_lookup import PromptLookupDrafter

from ..strategies import steady
from .conformance import check_contract
from .fakes import sequences


def lookup(row, *, asked=3, vocabulary=10, **lengths):
    drafter = PromptLookupDrafter(vocabulary, **lengths)
    drafts = drafter.draft(sequences([row]), np.array([asked]), np.zeros((1, 3)), None)
    return drafts.tokens[0, : drafts.count[0]].tolist()


def by_hand(row, asked, min_match, max_match):
    """The longest match, then the leftmost, one comparison after the other."""
    for n in range(min(max_match, len(row) - 1), min_match - 1, -1):
        for start in range(n, len(row)):
            if row[start - n : start] == row[-n:]:
                return row[start : start + asked]
    return []


@pytest.mark.parametrize(
    ("row", "proposed"),
    [
        pytest.param([1, 2, 3, 4, 2, 3], [4, 2, 3], id="up to the end, the looked-for tokens included"),
        pytest.param([1, 2, 5, 7, 2, 6, 1, 2], [5, 7, 2], id="the longer match wins over the later"),
        pytest.param([2, 5, 2, 6, 2], [5, 2, 6], id="of equals the earliest"),
        pytest.param([4, 4, 4, 4], [4], id="a run overlaps itself: the longest match leaves one token"),
        pytest.param([1, 2, 3], [], id="no match"),
        pytest.param([1], [], id="one token"),
        pytest.param([], [], id="no token"),
    ],
)
def test_what_is_proposed(row, proposed):
    assert lookup(row) == proposed


def test_match_lengths_bound_the_search():
    row = [1, 2, 3, 9, 8, 3, 7, 1, 2, 3]
    assert lookup(row, max_match=3) == [9, 8, 3]
    assert lookup(row, min_match=4, max_match=4) == []
    assert lookup([5, 1, 7, 9, 9, 1], min_match=2) == []
    assert lookup([5, 3, 7, 1, 2, 3, 9, 2, 3], max_match=1) == [7, 1, 2]
    assert lookup([5, 3, 7, 1, 2, 3, 9, 2, 3], max_match=2) == [9, 2, 3]


@steady
@given(
    rows=st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=5),
    lengths=st.tuples(st.integers(1, 4), st.integers(0, 3)),
    data=st.data(),
)
def test_a_batch_is_searched_as_by_hand(rows, lengths, data):
    low, more = lengths
    asked = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows))))
    drafter = PromptLookupDrafter(3, min_match=low, max_match=low + more)
    drafts = drafter.draft(sequences(rows), asked, np.zeros((len(rows), 4)), None)
    for i, row in enumerate(rows):
        assert drafts.tokens[i, : drafts.count[i]].tolist() == by_hand(row, asked[i], low, low + more)


def test_contract():
    def make():
        return PromptLookupDrafter(10)

    rows = sequences([[1, 2, 1], [], [3, 4, 5, 3, 4], [7, 8, 7, 8, 7]])
    drafts = check_contract(make, rows, np.array([3, 3, 0, 2]), None, width=3)
    assert drafts.count.tolist() == [2, 0, 0, 2]
    assert drafts.q[0, 0].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("lengths", [(0, 3), (3, 2)])
def test_impossible_match_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="1 <= min <= max"):
        PromptLookupDrafter(4, min_match=lengths[0], max_match=lengths[1])
