"""The output law of drafted and verified trees, by enumeration of all uniforms of both."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.decoding.tree.drafter import TreeDrafter
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.tree.verify import TreeVerifier

from ..strategies import steady
from ..verify.exact import completed, random_laws, word_law
from .tables import step

TREES = {
    "chain": Topology.chain(3),
    "fork": Topology.branching(2),
    "three siblings": Topology.branching(3),
    "fork behind a draft": Topology([0, 1, 1]),
    "draft behind the younger": Topology([0, 0, 2]),
    "two forks": Topology([0, 0, 1, 1]),
}
WITH, WITHOUT = (partial(TreeDrafter, replacement=replacement) for replacement in (True, False))


def laws(seed, vocabulary, topology):
    rng = np.random.default_rng(seed)
    height = topology.height
    return random_laws(rng, vocabulary, height), random_laws(rng, vocabulary, height + 1)


def distance(drafter, verifier, topology, q, p, num_draft=None):
    """Total variation between what is emitted and the target."""
    return abs(completed(*step(drafter, verifier, topology, q, p, num_draft), p) - word_law(p)).sum() / 2


@pytest.mark.parametrize("drafter", [WITH, WITHOUT])
@pytest.mark.parametrize("tree", TREES)
def test_any_tree_leaves_the_law_of_any_target(tree, drafter):
    for seed, vocabulary in ((1, 2), (2, 3)):
        q, p = laws(seed, vocabulary, TREES[tree])
        assert distance(drafter, TreeVerifier, TREES[tree], q, p) < 1e-12


@pytest.mark.parametrize("drafter", [WITH, WITHOUT])
@settings(steady, max_examples=12)
@given(seed=st.integers(0, 2**32), vocabulary=st.integers(1, 3), num_draft=st.integers(0, 3))
def test_ragged_trees_leave_it_too(drafter, seed, vocabulary, num_draft):
    topology = Topology([0, 0, 1])
    q, p = laws(seed, vocabulary, topology)
    assert distance(drafter, TreeVerifier, topology, q, p, num_draft) < 1e-12


def test_four_tokens_and_siblings_that_use_them_up():
    topology = Topology.branching(3)
    p = [np.array([0.1, 0.2, 0.3, 0.4]), np.full((4, 4), 0.25)]
    assert distance(WITHOUT, TreeVerifier, topology, [np.array([0.5, 0.5, 0, 0])], p) < 1e-12
    assert distance(WITHOUT, TreeVerifier, topology, [np.array([0.4, 0.3, 0.2, 0.1])], p) < 1e-12


class SiblingsForgotten(TreeVerifier):
    def remainder(self, p, q):
        return p


class AbsoluteResidual(TreeVerifier):
    def residual(self, p, q):
        return abs(p - q)


class ResidualNotNormalised(TreeVerifier):
    def remainder(self, p, q):
        return self.residual(p, q)


class JudgedByTheLawOfTheFirstSibling(TreeDrafter):
    """Draws without replacement, and declares laws as if it had drawn with replacement."""

    def draft(self, sequences, num_draft, uniforms, law):
        drafts = super().draft(sequences, num_draft, uniforms, law)
        for level in range(self.topology.height):
            for children in self.topology.families(level, uniforms.shape[1]).values():
                for child in children:
                    drafts.q[:, child - 1] = drafts.q[:, children[0] - 1]
        return drafts


@pytest.mark.parametrize("fault", [SiblingsForgotten, AbsoluteResidual, ResidualNotNormalised])
@pytest.mark.parametrize("drafter", [WITH, WITHOUT])
@pytest.mark.parametrize("tree", ["fork", "fork behind a draft", "two forks"])
def test_faults_of_the_verifier_are_seen(tree, drafter, fault):
    topology = TREES[tree]
    assert distance(drafter, fault, topology, *laws(2, 3, topology)) > 1e-3


@pytest.mark.parametrize(("tree", "seed"), [("fork", 4), ("two forks", 2)])
def test_a_false_law_of_siblings_is_seen(tree, seed):
    topology = TREES[tree]
    assert distance(JudgedByTheLawOfTheFirstSibling, TreeVerifier, topology, *laws(seed, 3, topology)) > 1e-3


@pytest.mark.parametrize("fault", [SiblingsForgotten, ResidualNotNormalised])
def test_faults_among_siblings_need_siblings(fault):
    topology = TREES["chain"]
    q, p = laws(2, 2, topology)
    assert (distance(WITH, fault, topology, q, p) < 1e-12) == (fault is ResidualNotNormalised)
