"""The shape of a draft tree, and what the model must know of it: who sees whom, and at which position."""

from collections.abc import Sequence

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray


class Topology:
    """A tree of `N` drafts.

    Node 0 is the sequence's last token, which the target has not read yet; nodes 1 to N are drafts, level by level,
    parents before their children and siblings in the order in which they are drawn and judged. So the first nodes of
    a tree are a tree too: rows of a batch may draft different numbers of them.

    Source: Miao et al., "SpecInfer: accelerating large language model serving with tree-based speculative inference
    and verification", ASPLOS 2024, section 4.2.

    Args:
        parents: parent of node 1, 2, …, N.

    Raises:
        ValueError: a node stands before its parent, or behind a deeper node.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        depths = [0]
        for node, parent in enumerate(parents, start=1):
            if not 0 <= parent < node:
                raise ValueError(f"node {node} has the parent {parent}, must be one of 0 to {node - 1}")
            depths.append(depths[parent] + 1)
            if depths[-1] < depths[-2]:
                raise ValueError(
                    f"node {node} has depth {depths[-1]} behind one of depth {depths[-2]}: levels go in order"
                )
        self.parents = tuple(parents)
        self.depth: IntArray = np.array(depths)
        """Position of each node relative to node 0, `[N + 1]`."""
        self.lineage: IntArray = np.full((len(depths), depths[-1] + 1), -1)
        """Nodes on the way from node 0 to each node, itself included, padded with −1, `[N + 1, D + 1]`."""
        self.lineage[0, 0] = 0
        for node, parent in enumerate(parents, start=1):
            self.lineage[node] = self.lineage[parent]
            self.lineage[node, depths[node]] = node

    @classmethod
    def chain(cls, length: int) -> "Topology":
        """Return the tree that does not branch."""
        return cls(range(length))

    @classmethod
    def branching(cls, *widths: int) -> "Topology":
        """Return the tree in which every node of level 0, 1, … has that many children."""
        parents: list[int] = []
        level = [0]
        for width in widths:
            first = len(parents) + 1
            parents += [node for node in level for _ in range(width)]
            level = list(range(first, len(parents) + 1))
        return cls(parents)

    def __len__(self) -> int:
        """Number of drafts `N`."""
        return len(self.parents)

    @property
    def height(self) -> int:
        """Depth `D` of the deepest node: the most drafts that one step can accept."""
        return int(self.depth[-1])

    @property
    def visible(self) -> BoolArray:
        """Whether node i sees node j, its ancestor or itself, `[N + 1, N + 1]`: the tree's attention mask."""
        nodes = np.arange(len(self) + 1)
        return np.asarray((self.lineage[:, None] == nodes[:, None]).any(axis=2))

    def families(self, level: int, width: int) -> dict[int, list[int]]:
        """Children of each node of a level that has any among the first `width` drafts, all in order."""
        families: dict[int, list[int]] = {}
        for child, parent in enumerate(self.parents[:width], start=1):
            if self.depth[parent] == level:
                families.setdefault(parent, []).append(child)
        return families
