import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.chain import ChainVerifier

from ..strategies import steady
from .cells import Prescribed
from .exact import random_laws, step_lengths


@settings(steady, max_examples=25)
@given(seed=st.integers(0, 2**32), vocabulary=st.integers(2, 3), width=st.integers(1, 3))
def test_a_block_is_never_shorter_on_average_than_a_chain(seed, vocabulary, width):
    rng = np.random.default_rng(seed)
    q, p = random_laws(rng, vocabulary, width), random_laws(rng, vocabulary, width + 1)
    block, chain = (step_lengths(verifier(), q, p) for verifier in (BlockVerifier, ChainVerifier))
    assert block >= chain - 1e-12
    if width == 1:
        assert block == pytest.approx(chain, abs=1e-12)


def test_the_papers_example():
    # Target (2/3, 1/3), drafter (1/3, 2/3), two drafts: 10/9 accepted by tokens, 11/9 by blocks.
    p = [np.array([2, 1]) / 3, np.array([[2, 1]] * 2) / 3, np.array([[[2, 1]] * 2] * 2) / 3]
    q = [np.array([1, 2]) / 3, np.array([[1, 2]] * 2) / 3]
    assert step_lengths(ChainVerifier(), q, p) - 1 == pytest.approx(10 / 9, abs=1e-12)
    assert step_lengths(BlockVerifier(), q, p) - 1 == pytest.approx(11 / 9, abs=1e-12)


@pytest.mark.parametrize(
    ("coins", "out"),
    [
        pytest.param([0.9, 0.49, 0.0], [1, 0, 0], id="a good second draft saves the first"),
        pytest.param([0.9, 0.5, 0.0], [0, -1, -1], id="accepted below w: the test is strict"),
    ],
)
def test_two_drafts(coins, out):
    # w_1 = .25 / .5, w_2 = min(1, w_1 · .5 / .5).
    p = np.array([[[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]]])
    q = np.full((1, 2, 2), 0.5)
    verified = BlockVerifier()(np.array([[1, 0]]), q, p, np.array([2]), Prescribed(np.array([coins])))
    assert verified.out.tolist() == [out]


def test_a_draft_that_the_target_excludes_is_never_kept():
    p = np.array([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
    q = np.full((1, 2, 2), 0.5)
    verified = BlockVerifier()(np.array([[1, 1]]), q, p, np.array([2]), Prescribed(np.zeros((1, 3))))
    assert verified.out.tolist() == [[0, -1, -1]]


def test_laws_that_agree_accept_everything():
    laws = np.full((3, 3, 2), 0.5)
    coins = Prescribed(np.full((3, 3), np.nextafter(1, 0)))
    verified = BlockVerifier()(np.zeros((3, 2), dtype=int), laws[:, :2], laws, np.array([2, 1, 0]), coins)
    assert verified.n_accepted.tolist() == [2, 1, 0]
