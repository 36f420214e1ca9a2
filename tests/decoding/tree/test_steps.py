"""Whole completions by trees, in the smallest loop that commits the accepted path."""

import numpy as np
import pytest

from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.tree.drafter import TreeDrafter
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.tree.verify import GreedyTreeVerifier, TreeVerifier
from specaudit.decoding.worlds import MARKOV4

from ..enumeration import chain_law
from .tables import softmax

TEN = Topology([0, 0, 0, 1, 1, 2, 4, 4, 5, 7])
FIVE = Topology.chain(5)
TARGET, DRAFTER = MARKOV4.target, MARKOV4.drafter.model


def complete(target, model, topology, rows, steps, *, replacement=False, greedy=False):
    """Tokens `[rows, n]`, padded with −1, and their numbers `[rows]`, of empty prompts."""
    rng = np.random.default_rng(14)
    drafter = TreeDrafter(model, topology, rows, replacement=replacement)
    cache, slots = target.cache(rows), np.arange(rows)
    tokens, lengths = np.full((rows, steps * (topology.height + 1)), -1), np.zeros(rows, dtype=int)
    nodes = np.full(rows, len(topology))
    for _ in range(steps):
        said = Sequences(slots=slots, tokens=tokens, lengths=lengths.copy())
        drafts = drafter.draft(said, nodes, rng.random((rows, len(topology))), softmax)
        last = np.column_stack([np.full(rows, -1), tokens])[slots, lengths]
        new = np.column_stack([last, drafts.tokens])
        forward = target.forward(new, nodes + 1, cache, slots, visible=topology.visible, depth=topology.depth)
        if greedy:
            verified = GreedyTreeVerifier(topology)(drafts.tokens, forward.logits.argmax(axis=2), drafts.count)
        else:
            p = np.exp(forward.logits)
            p /= p.sum(axis=2, keepdims=True)
            verified = TreeVerifier(topology)(drafts.tokens, drafts.q, p, drafts.count, rng, check=False)
        cache.commit(slots, verified.path)
        row, column = np.nonzero(verified.out >= 0)
        tokens[row, lengths[row] + column] = verified.out[row, column]
        lengths += verified.n_out
    return tokens, lengths


@pytest.mark.parametrize("replacement", [True, False])
def test_words_have_the_targets_law(replacement):
    rows = 20_000
    words = complete(TARGET, DRAFTER, TEN, rows, 3, replacement=replacement)[0][:, :3]
    law = chain_law(TARGET, -1, 3)
    counts = np.bincount(words @ [16, 4, 1], minlength=64).reshape(law.shape)
    # The 0.1 % point of chi-square with 63 degrees of freedom.
    assert ((counts - rows * law) ** 2 / (rows * law)).sum() < 103.5


def test_ten_nodes_of_a_tree_emit_more_than_five_of_a_chain():
    # On the same drafter, tokens per step; drawn with replacement, some siblings are spent on the same token.
    per_step = {}
    for name, topology, replacement in (("chain", FIVE, False), ("tree", TEN, False), ("tree again", TEN, True)):
        per_step[name] = complete(TARGET, DRAFTER, topology, 4_000, 5, replacement=replacement)[1].mean() / 5
    assert per_step["chain"] == pytest.approx(2.60, abs=0.03)
    assert per_step["tree"] == pytest.approx(3.11, abs=0.03)
    assert per_step["tree again"] == pytest.approx(2.91, abs=0.03)


def test_ten_more_nodes_of_a_chain_would_not_do():
    lengths = complete(TARGET, DRAFTER, Topology.chain(10), 4_000, 5)[1]
    assert lengths.mean() / 5 == pytest.approx(2.75, abs=0.03)


@pytest.mark.parametrize("topology", [TEN, FIVE])
def test_greedy_tokens_are_those_of_plain_greedy_decoding(topology):
    target = Transformer.from_seed(Shape(vocabulary=6, sharpness=3.0), seed=5)
    plain, _ = complete(target, target, Topology([]), 3, 12, greedy=True)
    for model in (target, target.truncated(1), target.perturbed(0.3, seed=6)):
        tokens, lengths = complete(target, model, topology, 3, 12, greedy=True)
        assert lengths.min() >= 12
        np.testing.assert_array_equal(tokens[:, :12], plain)
