import numpy as np
import pytest

from specaudit.decoding.verify.one_hot import OneHotVerifier

from .cells import Prescribed


@pytest.mark.parametrize(
    ("coins", "out"),
    [
        pytest.param([0.19, 0.0], [1, 0], id="accepted below p"),
        pytest.param([0.2, 0.0], [0, -1], id="rejected at p, and replaced by another token"),
        pytest.param([0.2, 0.626], [2, -1], id="in the proportions of p"),
    ],
)
def test_one_draft(coins, out):
    p = np.array([[[0.5, 0.2, 0.3], [1.0, 0.0, 0.0]]])
    verified = OneHotVerifier()(
        np.array([[1]]), np.full((1, 1, 3), np.nan), p, np.array([1]), Prescribed(np.array([coins]))
    )
    assert verified.out.tolist() == [out]


def test_a_certain_draft_is_accepted():
    p = np.array([[[0.0, 1.0], [0.5, 0.5]]])
    coins = Prescribed(np.full((1, 2), np.nextafter(1, 0)))
    assert OneHotVerifier()(np.array([[1]]), p[:, :1], p, np.array([1]), coins).out.tolist() == [[1, 1]]


def test_inputs_are_checked():
    p = np.full((1, 2, 2), 0.5)
    with pytest.raises(ValueError, match="token 2 is not one of 2 tokens"):
        OneHotVerifier()(np.array([[2]]), p[:, :1], p, np.array([1]), np.random.default_rng(0))
