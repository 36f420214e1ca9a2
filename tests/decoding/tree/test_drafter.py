import numpy as np
import pytest

from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.tree.drafter import TreeDrafter
from specaudit.decoding.tree.topology import Topology

from .tables import softmax

MODEL = Transformer.from_seed(Shape(vocabulary=6), seed=3)
TREE = Topology([0, 0, 0, 1, 1, 2, 4])


def sequences(tokens, lengths, slots=None):
    slots = np.arange(len(tokens)) if slots is None else np.array(slots)
    return Sequences(slots=slots, tokens=np.array(tokens), lengths=np.array(lengths))


def law_behind(said):
    """The model's law behind some tokens, read in one go."""
    tokens = np.array([[-1, *said]])
    forward = MODEL.forward(tokens, np.array([tokens.shape[1]]), MODEL.cache(1), np.array([0]))
    return softmax(forward.logits[:, -1], None)[0]


@pytest.mark.parametrize("replacement", [True, False])
def test_each_node_is_drawn_from_the_law_behind_its_parent(replacement):
    rng = np.random.default_rng(9)
    said = sequences([[1, 2, 3, -1], [4, 0, 5, 1], [-1, -1, -1, -1]], [3, 4, 0])
    drafter = TreeDrafter(MODEL, TREE, 3, replacement=replacement)
    drafts = drafter.draft(said, np.full(3, 7), rng.random((3, 7)), softmax)
    assert drafts.count.tolist() == [7, 7, 7]
    for row in range(3):
        before = said.tokens[row, : said.lengths[row]]
        for child, parent in enumerate(TREE.parents, start=1):
            way = TREE.lineage[parent, 1 : TREE.depth[child]] - 1
            law = law_behind([*before, *drafts.tokens[row, way]])
            elders = [node for node in range(1, child) if TREE.parents[node - 1] == parent]
            if not replacement:
                law[drafts.tokens[row, np.array(elders, dtype=int) - 1]] = 0
                law /= law.sum()
            np.testing.assert_allclose(drafts.q[row, child - 1], law, atol=1e-12)
            assert law[drafts.tokens[row, child - 1]] > 0


def test_siblings_without_replacement_differ_until_no_token_is_left():
    drafter = TreeDrafter(MODEL, Topology.branching(6), 200)
    uniforms = np.random.default_rng(10).random((200, 6))
    drafts = drafter.draft(sequences(np.zeros((200, 1), dtype=int), [1] * 200), np.full(200, 6), uniforms, softmax)
    assert (np.sort(drafts.tokens, axis=1) == np.arange(6)).all()

    def two_tokens(logits, drafts):
        return np.tile([0.5, 0.0, 0.5, 0.0, 0.0, 0.0], (len(logits), 1))

    few = drafter.draft(sequences([[1]], [1]), np.array([3]), uniforms[:1, :3], two_tokens)
    assert sorted(few.tokens[0, :2]) == [0, 2]
    np.testing.assert_array_equal(few.q[0, 2], [0.5, 0, 0.5, 0, 0, 0])
    assert few.q[0, 1].max() == 1


def test_the_law_is_told_the_drafts_on_the_way():
    seen = {}

    def law(logits, drafts):
        seen.setdefault(drafts.shape[1], []).append(drafts.copy())
        return softmax(logits, drafts)

    drafter = TreeDrafter(MODEL, TREE, 1)
    drafts = drafter.draft(sequences([[2]], [1]), np.array([7]), np.random.default_rng(0).random((1, 7)), law)
    a, b, _, aa, _, _, _ = drafts.tokens[0]
    assert [way.tolist() for way in seen[0]] == [[[]]]
    assert [way.tolist() for way in seen[1]] == [[[a]], [[b]]]
    assert [way.tolist() for way in seen[2]] == [[[a, aa]]]


def test_a_tree_that_does_not_branch_drafts_as_a_chain_does():
    uniforms = np.random.default_rng(11).random((4, 3))
    said = sequences(np.arange(12).reshape(4, 3) % 6, [3, 2, 1, 3])
    tree = TreeDrafter(MODEL, Topology.chain(3), 4).draft(said, np.array([3, 2, 0, 1]), uniforms, softmax)
    chain = SmallModelDrafter(MODEL, 4).draft(said, np.array([3, 2, 0, 1]), uniforms, softmax)
    drafted = np.arange(3) < tree.count[:, None]
    np.testing.assert_array_equal(tree.tokens[drafted], chain.tokens[drafted])
    np.testing.assert_allclose(tree.q[drafted], chain.q[drafted], atol=1e-12)


def test_a_row_does_not_depend_on_its_neighbours_nor_on_earlier_steps():
    rng = np.random.default_rng(12)
    tokens, uniforms = rng.integers(0, 6, (3, 9)), rng.random((3, 7))
    drafter = TreeDrafter(MODEL, TREE, 5)
    slots = [4, 0, 2]
    # The same sequences at three ages; the drafter skips a step of row 1, and drafts little for row 2.
    drafter.draft(sequences(tokens, [2, 1, 0], slots), np.array([7, 7, 2]), uniforms, softmax)
    drafter.draft(sequences(tokens, [5, 3, 1], slots), np.array([3, 0, 7]), uniforms, softmax)
    late = drafter.draft(sequences(tokens, [9, 6, 4], slots), np.array([7, 5, 7]), uniforms, softmax)
    for row, (length, nodes) in enumerate([(9, 7), (6, 5), (4, 7)]):
        fresh = TreeDrafter(MODEL, TREE, 1)
        alone = fresh.draft(
            sequences(tokens[[row], :length], [length]), np.array([nodes]), uniforms[[row], :nodes], softmax
        )
        np.testing.assert_array_equal(late.tokens[row, :nodes], alone.tokens[0])
        np.testing.assert_array_equal(late.q[row, :nodes], alone.q[0])


def test_a_released_slot_takes_another_sequence():
    drafter = TreeDrafter(MODEL, TREE, 1)
    uniforms = np.random.default_rng(13).random((1, 7))
    drafter.draft(sequences([[1, 2, 3]], [3]), np.array([7]), uniforms, softmax)
    with pytest.raises(ValueError, match="slot 0: the drafter has read 2 tokens of a sequence of 1"):
        drafter.draft(sequences([[5]], [1]), np.array([7]), uniforms, softmax)
    drafter.release(np.array([0]))
    again = drafter.draft(sequences([[5]], [1]), np.array([7]), uniforms, softmax)
    fresh = TreeDrafter(MODEL, TREE, 1).draft(sequences([[5]], [1]), np.array([7]), uniforms, softmax)
    np.testing.assert_array_equal(again.q, fresh.q)


def test_no_more_nodes_are_drafted_than_the_tree_has():
    drafter = TreeDrafter(MODEL, Topology([0, 0]), 1)
    drafts = drafter.draft(sequences([[5]], [1]), np.array([4]), np.full((1, 4), 0.5), softmax)
    assert drafts.count.tolist() == [2]


def test_nothing_is_drafted_for_an_empty_batch():
    nobody = sequences(np.empty((0, 3), dtype=int), np.empty(0, dtype=int))
    drafts = TreeDrafter(MODEL, TREE, 1).draft(nobody, np.empty(0, dtype=int), np.empty((0, 7)), softmax)
    assert drafts.tokens.shape == (0, 7)
