"""Verification of draft trees, from the root."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.verify.inputs import check_greedy, check_inputs, read_laws
from specaudit.decoding.verify.rows import Laws, Rows, stretches
from specaudit.decoding.verify.verified import Verified


@dataclass(frozen=True, kw_only=True)
class VerifiedTree(Verified):
    """The outcome of one verification step of trees of height `D`; `out` is `[B, D + 1]`.

    Attributes:
        path: node 0 and the accepted nodes `[B, D + 1]`, padded with −1: what a cache keeps of the pass.
    """

    path: IntArray


class TreeVerifier:
    """The verifier of trees whose output has the target's law, whatever the drafter's.

    Standing at node 0 first, it judges the children of the node where it stands, in order: child `x ~ q_x` is accepted
    while `u · q_x(x) < p(x)`, and is where it stands next. A child that is rejected leaves `norm(max(0, p − q_x))` as
    the target for its siblings. When no child is left, the last token is drawn from what remains of the target.

    Every sibling is a step of speculative sampling by itself, with its own `q` given the siblings before it. So the
    output is exact for siblings drawn with replacement, all from one law, and without, each from what was left.

    Source: Miao et al. (SpecInfer), ASPLOS 2024, algorithm 2 and Theorem 4.2; without replacement: Jeon et al.,
    "Recursive speculative decoding", 2024.

    Args:
        topology: shape of the trees.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def __call__(
        self, draft: IntArray, q: Laws, p: Laws, num_draft: IntArray, rng: UniformSource, *, check: bool = True
    ) -> VerifiedTree:
        """Verify the trees of a batch.

        Args:
            draft: tokens of nodes 1 to W, `[B, W]`; beyond `num_draft` any token or −1.
            q: the laws that they were drawn from, `[B, W, V]`; an array, a view, or a function of places.
            p: the target's laws behind nodes 0 to W, `[B, W + 1, V]`; likewise.
            num_draft: number of drafts of each row, `[B]`, 0 to W: so many nodes, the first ones.
            rng: asked once for `[B, W + 1]` uniforms.
            check: whether to validate the inputs, which reads all laws.

        Raises:
            ValueError: there are more drafts than nodes, or the inputs are contradictory; see `check_inputs`.
        """
        q_rows, p_rows = read_laws(draft, q, p, num_draft)
        batch, width = draft.shape
        if width > len(self.topology):
            raise ValueError(f"the tree has {len(self.topology)} drafts, got {width}")
        if check:
            check_inputs(draft, q_rows, p_rows, num_draft)
        coins = self.coins(rng, batch, width)
        node, tokens = np.zeros(batch, dtype=np.int64), np.empty(batch, dtype=np.int64)
        for rows in stretches(batch, p_rows.shape[2]):
            part = draft[rows], q_rows.part(rows), p_rows.part(rows), num_draft[rows], coins[rows]
            node[rows], tokens[rows] = self.descend(*part)
        return follow(self.topology, draft, node, tokens)

    def coins(self, rng: UniformSource, batch: int, width: int) -> FloatArray:
        """Draw `[B, W + 1]` uniforms: one per draft, the last for the last token."""
        return rng.random((batch, width + 1))

    def descend(
        self, draft: IntArray, q: Rows, p: Rows, num_draft: IntArray, coins: FloatArray
    ) -> tuple[IntArray, IntArray]:
        """Walk down from node 0: the node where each walk of a stretch ends `[b]`, and the last token `[b]`."""
        batch, width = draft.shape
        node = np.zeros(batch, dtype=np.int64)
        target = np.array(p.at(np.arange(batch), node))
        for child, parent in enumerate(self.topology.parents[:width], start=1):
            rows = np.flatnonzero((node == parent) & (num_draft >= child))
            place = np.full(len(rows), child)
            law, token, left = q.at(rows, place - 1), draft[rows, child - 1], target[rows]
            drawn = np.arange(len(rows)), token
            accepted = self.accepted(law[drawn], left[drawn], coins[rows, child - 1])
            node[rows[accepted]] = child
            target[rows[accepted]] = p.at(rows[accepted], place[accepted])
            target[rows[~accepted]] = self.remainder(left[~accepted], law[~accepted])
        return node, inverse_cdf(target, coins[:, width])

    def accepted(self, q: FloatArray, p: FloatArray, coins: FloatArray) -> BoolArray:
        """Judge children, given the probabilities that drafter and target give them, `[r]`."""
        return np.asarray(coins * q < p)

    def remainder(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Take from the target's laws what a rejected child's law has offered, `[r, V]`, normalised.

        Equal laws reject nothing; where rounding rejects all the same, nothing remains but `p` itself.
        """
        left = self.residual(p, q)
        mass = left.sum(axis=1, keepdims=True)
        return np.where(mass > 0, left / np.where(mass > 0, mass, 1), p)

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Take from the target's laws what the drafter's have offered already, `[r, V]`, up to a factor."""
        return np.maximum(p - q, 0)


class GreedyTreeVerifier:
    """Verification of trees at temperature 0: follows the target's own tokens as far as they have been drafted.

    Args:
        topology: shape of the trees.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def __call__(self, draft: IntArray, target: IntArray, num_draft: IntArray, *, check: bool = True) -> VerifiedTree:
        """Verify the trees of a batch.

        Args:
            draft: tokens of nodes 1 to W, `[B, W]`.
            target: the target's argmax behind nodes 0 to W, `[B, W + 1]`.
            num_draft: number of drafts of each row `[B]`.
            check: whether to validate the inputs.

        Raises:
            ValueError: the inputs are contradictory; see `check_greedy`.
        """
        if check:
            check_greedy(draft, target, num_draft)
        batch, width = draft.shape
        row = np.arange(batch)
        node = np.zeros(batch, dtype=np.int64)
        for child, parent in enumerate(self.topology.parents[:width], start=1):
            guessed = draft[:, child - 1] == target[row, node]
            node[(node == parent) & (num_draft >= child) & guessed] = child
        return follow(self.topology, draft, node, target[row, node])


def follow(topology: Topology, draft: IntArray, node: IntArray, token: IntArray) -> VerifiedTree:
    """Emit the drafts `[B, W]` on the way to a node `[B]`, then `token` `[B]`."""
    batch = len(draft)
    path, n_accepted = topology.lineage[node], topology.depth[node]
    out = np.full(path.shape, -1)
    rows, steps = np.nonzero(path > 0)
    out[rows, steps - 1] = draft[rows, path[rows, steps] - 1]
    out[np.arange(batch), n_accepted] = token
    return VerifiedTree(out=out, n_out=n_accepted + 1, n_accepted=n_accepted, path=path)
