import numpy as np
import pytest

from specaudit.decoding.draft_length import AdaptiveLength, BatchBuckets, FixedLength

CURRENT = np.array([1, 2, 3, 4])


def test_fixed():
    assert FixedLength().choose(CURRENT, 9, 3).tolist() == [3, 3, 3, 3]
    assert FixedLength().learn(CURRENT, CURRENT, CURRENT, 5) is CURRENT


def test_a_row_that_guesses_right_drafts_more():
    policy = AdaptiveLength()
    assert policy.choose(CURRENT, 9, 4).tolist() == [1, 2, 3, 4]
    learnt = policy.learn(np.array([1, 3, 3, 2, 1]), np.array([1, 3, 3, 0, 1]), np.array([1, 3, 2, 0, 0]), 4)
    assert learnt.tolist() == [3, 4, 2, 2, 1]


def test_without_drafts_nothing_is_learnt():
    assert AdaptiveLength().learn(np.zeros(2, int), np.zeros(2, int), np.zeros(2, int), 0).tolist() == [0, 0]


@pytest.mark.parametrize(("running", "length"), [(1, 5), (4, 5), (5, 2), (16, 2), (17, 0)])
def test_a_full_batch_drafts_less(running, length):
    assert BatchBuckets(((4, 8), (16, 2))).choose(CURRENT, running, 5).tolist() == [length] * 4
