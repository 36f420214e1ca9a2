import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier

from ..strategies import steady


def test_the_matching_run_is_kept_and_the_argmax_follows():
    draft = np.array([[1, 2, 3], [1, 0, 3], [0, 2, 3], [1, 2, 3], [1, 2, 3]])
    target = np.array([[1, 2, 3, 0]] * 5)
    verified = GreedyVerifier()(draft, target, np.array([3, 3, 3, 1, 0]))
    assert verified.n_accepted.tolist() == [3, 1, 0, 1, 0]
    assert verified.n_out.tolist() == [4, 2, 1, 2, 1]
    assert verified.out.tolist() == [[1, 2, 3, 0], [1, 2, -1, -1], [1, -1, -1, -1], [1, 2, -1, -1], [1, -1, -1, -1]]


@steady
@given(batch=st.integers(0, 6), width=st.integers(0, 4), vocabulary=st.integers(1, 3), seed=st.integers(0, 2**32))
def test_it_is_the_chain_verifier_on_one_hot_laws(batch, width, vocabulary, seed):
    rng = np.random.default_rng(seed)
    draft = rng.integers(0, vocabulary, (batch, width))
    target = rng.integers(0, vocabulary, (batch, width + 1))
    num_draft = rng.integers(0, width + 1, batch)
    one_hot = np.eye(vocabulary)
    greedy = GreedyVerifier()(draft, target, num_draft)
    sampled = ChainVerifier()(draft, one_hot[draft], one_hot[target], num_draft, rng)
    np.testing.assert_array_equal(greedy.out, sampled.out)
    np.testing.assert_array_equal(greedy.n_out, sampled.n_out)
    np.testing.assert_array_equal(greedy.n_accepted, sampled.n_accepted)
