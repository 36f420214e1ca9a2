import pytest

from specaudit.decoding.tree.topology import Topology


def test_a_tree_tells_who_sees_whom_and_where():
    tree = Topology([0, 0, 1, 2, 2])
    assert len(tree) == 5
    assert tree.height == 2
    assert tree.depth.tolist() == [0, 1, 1, 2, 2, 2]
    assert tree.lineage.tolist() == [[0, -1, -1], [0, 1, -1], [0, 2, -1], [0, 1, 3], [0, 2, 4], [0, 2, 5]]
    assert tree.visible.astype(int).tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 0, 1, 0, 1, 0],
        [1, 0, 1, 0, 0, 1],
    ]
    assert tree.families(0, 5) == {0: [1, 2]}
    assert tree.families(1, 5) == {1: [3], 2: [4, 5]}
    assert tree.families(1, 4) == {1: [3], 2: [4]}
    assert tree.families(1, 2) == tree.families(2, 5) == {}


def test_a_chain_sees_all_before_it():
    chain = Topology.chain(3)
    assert chain.parents == (0, 1, 2)
    assert chain.depth.tolist() == [0, 1, 2, 3]
    assert chain.visible.astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_every_node_of_a_level_branches_alike():
    assert Topology.branching(2, 3).parents == (0, 0, 1, 1, 1, 2, 2, 2)
    assert Topology.branching(3).parents == (0, 0, 0)
    assert Topology.branching().height == len(Topology([])) == 0


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([1], "node 1 has the parent 1, must be one of 0 to 0"),
        ([0, -1], "node 2 has the parent -1, must be one of 0 to 1"),
        ([0, 1, 0], "node 3 has depth 1 behind one of depth 2"),
    ],
)
def test_nodes_come_level_by_level(parents, message):
    with pytest.raises(ValueError, match=message):
        Topology(parents)
