import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.tree.verify import GreedyTreeVerifier
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


DRAFT, TARGET, COUNT = np.array([[1, 2], [0, 0]]), np.array([[1, 2, 3], [0, 1, 2]]), np.array([2, 1])


@pytest.mark.parametrize("verifier", [GreedyVerifier(), GreedyTreeVerifier(Topology.chain(2))])
@pytest.mark.parametrize(
    ("draft", "target", "num_draft", "message"),
    [
        (DRAFT, TARGET, np.array([2, 5]), "row 1: num_draft is 5, must be 0 to 2"),
        (DRAFT, TARGET, np.array([-1, 2]), "row 0: num_draft is -1, must be 0 to 2"),
        (DRAFT, TARGET[:, :2], COUNT, r"target \[B, K \+ 1\]"),
        (DRAFT, TARGET[:1], COUNT, r"got \[2, 2\], \[1, 3\], \[2\]"),
        (DRAFT, np.where(TARGET == 3, -1, TARGET), COUNT, r"row 0: the target says \[1, 2, -1\]"),
        (DRAFT[0], TARGET, COUNT, "shapes must be"),
    ],
)
def test_contradictory_inputs_are_refused(verifier, draft, target, num_draft, message):
    with pytest.raises(ValueError, match=message):
        verifier(draft, target, num_draft)
