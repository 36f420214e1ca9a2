import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.tree.verify import GreedyTreeVerifier, TreeVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier

from ..strategies import steady, verifications
from ..verify.cells import Prescribed

FORK = Topology([0, 0, 1, 2])
ALMOST_ONE = np.nextafter(1, 0)


@steady
@given(arguments=verifications(), seed=st.integers(0, 2**32))
def test_a_tree_that_does_not_branch_is_a_chain(arguments, seed):
    draft, q, p, num_draft = arguments
    batch, width = draft.shape
    coins = np.random.default_rng(seed).random((batch, width + 1))
    chain = ChainVerifier()(draft, q, p, num_draft, Prescribed(coins))
    tree = TreeVerifier(Topology.chain(width + 2))(draft, q, p, num_draft, Prescribed(coins))
    np.testing.assert_array_equal(tree.out[:, : width + 1], chain.out)
    assert (tree.out[:, width + 1 :] == -1).all()
    np.testing.assert_array_equal(tree.n_out, chain.n_out)
    np.testing.assert_array_equal(tree.n_accepted, chain.n_accepted)
    column = np.arange(width + 3)
    np.testing.assert_array_equal(tree.path, np.where(column <= tree.n_accepted[:, None], column, -1))


def one_tree(verifier, tokens, q, p, coins, num_draft=None):
    n = len(tokens) if num_draft is None else num_draft
    rng = Prescribed(np.array([coins]))
    return verifier(np.array([tokens]), np.array([q]), np.array([p]), np.array([n]), rng)


@pytest.mark.parametrize(
    ("coins", "out", "path"),
    [
        pytest.param([0.0, 0.0, 0.0, 0.0, 0.0], [0, 1, 0], [0, 1, 3], id="the elder and its child"),
        pytest.param([0.29, 0.0, 0.6, 0.0, 0.9], [0, 0, -1], [0, 1, -1], id="the elder without its child"),
        pytest.param([0.3, 0.0, 0.0, 0.0, 0.0], [1, 1, 0], [0, 2, 4], id="the younger and its child"),
        pytest.param([0.3, 0.83, 0.0, 0.6, 0.9], [1, 0, -1], [0, 2, -1], id="the younger without its child"),
        pytest.param([0.3, 0.84, 0.0, 0.0, 0.9], [2, -1, -1], [0, -1, -1], id="neither"),
    ],
)
def test_the_walk(coins, out, path):
    # Child 0 is accepted below .294; rejected, it leaves (0, .25, .35) / .6, so that child 1 is accepted below .833.
    p = [[0.25, 0.35, 0.4], [0.5, 0.5, 0], [0.5, 0.5, 0], [1, 0, 0], [1, 0, 0]]
    q = [[0.85, 0.1, 0.05], [0.5, 0.5, 0], [0, 1, 0], [0, 1, 0]]
    verified = one_tree(TreeVerifier(FORK), [0, 1, 1, 1], q, p, coins)
    assert verified.out.tolist() == [out]
    assert verified.path.tolist() == [path]
    assert verified.n_accepted.tolist() == [sum(node > 0 for node in path)]
    assert verified.n_out.tolist() == [sum(token >= 0 for token in out)]


def test_a_token_that_the_target_excludes_is_never_accepted():
    p = np.tile([0.0, 1.0], (5, 1))
    q = np.tile([0.5, 0.5], (4, 1))
    verified = one_tree(TreeVerifier(FORK), [0, 0, 1, 1], q, p, np.zeros(5))
    assert verified.out.tolist() == [[1, -1, -1]]


def test_a_residual_lost_to_rounding_leaves_the_target():
    p = np.array([[0.3, 0.7], [0.5, 0.5], [0.5, 0.5]])
    q = np.array([[0.1 + 0.2, 0.7]] * 2)
    verified = one_tree(TreeVerifier(Topology([0, 0])), [0, 0], q, p, [ALMOST_ONE, ALMOST_ONE, 0.5])
    assert verified.out.tolist() == [[1, -1]]


@pytest.mark.parametrize("nodes", range(5))
def test_rows_of_a_batch_may_have_fewer_nodes(nodes):
    rng = np.random.default_rng(7)
    draft, num_draft = rng.integers(0, 3, (400, 4)), rng.integers(0, 5, 400)
    q, p, coins = rng.dirichlet(np.ones(3), (400, 4)), rng.dirichlet(np.ones(3), (400, 5)), rng.random((400, 5))
    whole = TreeVerifier(FORK)(draft, q, p, num_draft, Prescribed(coins))
    rows = np.flatnonzero(num_draft == nodes)
    own = coins[rows][:, [*range(nodes), 4]]
    alone = TreeVerifier(FORK)(
        draft[rows, :nodes], q[rows, :nodes], p[rows, : nodes + 1], num_draft[rows], Prescribed(own)
    )
    np.testing.assert_array_equal(alone.out, whole.out[rows])
    np.testing.assert_array_equal(alone.path, whole.path[rows])
    assert (whole.path[rows] <= nodes).all()


def test_functions_of_places_are_asked_where_the_walks_pass():
    rng = np.random.default_rng(8)
    draft, coins = rng.integers(0, 3, (50, 4)), rng.random((50, 5))
    q, p = rng.dirichlet(np.ones(3), (50, 4)), rng.dirichlet(np.ones(3), (50, 5))
    asked = []

    def compute(rows, positions):
        asked.extend(zip(rows.tolist(), positions.tolist(), strict=True))
        return p[rows, positions]

    whole = TreeVerifier(FORK)(draft, q, p, np.full(50, 4), Prescribed(coins))
    seen = TreeVerifier(FORK)(draft, q, compute, np.full(50, 4), Prescribed(coins), check=False)
    np.testing.assert_array_equal(seen.out, whole.out)
    passed = [(row, node) for row, path in enumerate(whole.path.tolist()) for node in path if node >= 0]
    assert sorted(asked) == sorted(passed)


@steady
@given(seed=st.integers(0, 2**32), vocabulary=st.integers(1, 3), width=st.integers(0, 6))
def test_greedy_walks_are_those_of_one_hot_laws(seed, vocabulary, width):
    rng = np.random.default_rng(seed)
    topology = Topology([0, 0, 1, 1, 2, 4])
    draft, num_draft = rng.integers(0, vocabulary, (7, width)), rng.integers(0, width + 1, 7)
    target = rng.integers(0, vocabulary, (7, width + 1))
    # Behind equal drafts a target says the same.
    for node, parent in enumerate(topology.parents[:width], start=1):
        for elder in range(1, node):
            same = (draft[:, node - 1] == draft[:, elder - 1]) & (topology.parents[elder - 1] == parent)
            target[same, node] = target[same, elder]
    greedy = GreedyTreeVerifier(topology)(draft, target, num_draft)
    one_hot = np.eye(vocabulary)
    sampled = TreeVerifier(topology)(draft, one_hot[draft], one_hot[target], num_draft, rng)
    np.testing.assert_array_equal(greedy.out, sampled.out)
    np.testing.assert_array_equal(greedy.path, sampled.path)


def test_greedy_verification_of_a_chain_is_a_prefix_match():
    draft, target = np.array([[1, 2, 3], [1, 0, 3]]), np.array([[1, 2, 3, 0]] * 2)
    tree = GreedyTreeVerifier(Topology.chain(3))(draft, target, np.array([3, 3]))
    assert tree.out.tolist() == GreedyVerifier()(draft, target, np.array([3, 3])).out.tolist()


def test_more_drafts_than_nodes_are_refused():
    p = np.full((1, 3, 2), 0.5)
    with pytest.raises(ValueError, match="the tree has 1 drafts, got 2"):
        TreeVerifier(Topology([0]))(np.zeros((1, 2), dtype=int), p[:, :2], p, np.array([2]), np.random.default_rng(0))


def test_inputs_are_checked_unless_told_otherwise():
    p = np.full((1, 3, 2), 0.5)
    q = np.array([[[0.5, 0.5], [1.0, 0.0]]])
    arguments = np.array([[0, 1]]), q, p, np.array([2])
    with pytest.raises(ValueError, match=re.escape("row 0, draft 1: token 1 has q = 0")):
        TreeVerifier(Topology([0, 0]))(*arguments, np.random.default_rng(0))
    TreeVerifier(Topology([0, 0]))(*arguments, np.random.default_rng(0), check=False)
