"""Drafting a tree with any model, level by level."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Drafts, Law, Sequences
from specaudit.decoding.models.interface import BOS, Model
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.tree.topology import Topology


class TreeDrafter:
    """Expands a tree of fixed shape: one forward pass per level, over all nodes so far.

    Siblings are drawn from the law behind their parent: with replacement all from the same one, without replacement
    each from what its elder siblings have left of it, renormalised. The law that a node was drawn from is declared as
    its `q`, so that one verifier serves both. Where siblings have used up all tokens of a law, it starts anew.

    On the world `markov4` and its drafter, ten nodes drawn without replacement make a step emit 3.11 tokens (with
    replacement 2.91), a chain of five 2.60, and a chain of ten 2.75.

    The model has committed nothing but emitted tokens; the tree is pending in each pass and then forgotten.

    Source: Miao et al. (SpecInfer), ASPLOS 2024, for trees drawn with replacement; Jeon et al., "Recursive speculative
    decoding: accelerating LLM inference via sampling without replacement", 2024.

    Args:
        model: proposes the tokens.
        topology: shape of the tree.
        slots: number of sequences held at once.
        replacement: whether siblings may be equal.
    """

    def __init__(self, model: Model, topology: Topology, slots: int, *, replacement: bool = False) -> None:
        self.topology = topology
        self.replacement = replacement
        self._model = model
        self._cache = model.cache(slots)

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Propose the first `num_draft` nodes of the tree for each sequence.

        Args:
            sequences: what has been said so far.
            num_draft: most drafts of each row `[b]`, 0 to W.
            uniforms: one per node `[b, W]`.
            law: makes a law of logits, behind the drafts on the way to a node.

        Returns:
            Tokens `[b, W]` and laws `[b, W, V]` of nodes 1 to W; of no more than the tree has.
        """
        batch, width = uniforms.shape
        count = np.minimum(num_draft, len(self.topology))
        tokens = np.zeros((batch, width), dtype=np.int64)
        q = np.zeros((batch, width, self._model.vocabulary_size))
        self._read_emitted(sequences, np.flatnonzero(count))
        for level in range(self.topology.height):
            families = self.topology.families(level, int(count.max(initial=0)))
            if not families:
                break
            logits = self._logits(sequences, tokens[:, : max(families)], count)
            for node, children in families.items():
                way = self.topology.lineage[node, 1 : level + 1] - 1
                left = behind = law(logits[:, node], tokens[:, way])
                for child in children:
                    q[:, child - 1] = left
                    tokens[:, child - 1] = inverse_cdf(left, uniforms[:, child - 1])
                    left = self.left(behind, left, tokens[:, child - 1])
        return Drafts(tokens=tokens, q=q, count=count)

    def left(self, law: FloatArray, left: FloatArray, drawn: IntArray) -> FloatArray:
        """Say what the next sibling is drawn from, `[b, V]`.

        Args:
            law: the law behind the parent `[b, V]`.
            left: what the last sibling was drawn from `[b, V]`.
            drawn: the last sibling `[b]`.
        """
        if self.replacement:
            return law
        left = left.copy()
        left[np.arange(len(left)), drawn] = 0
        mass = left.sum(axis=1, keepdims=True)
        return np.where(mass > 0, left / np.where(mass > 0, mass, 1), law)

    def _read_emitted(self, sequences: Sequences, rows: IntArray) -> None:
        """Read and commit what has been emitted in some rows, but for the last token, which is node 0.

        Raises:
            ValueError: a slot has read more than its sequence holds.
        """
        slots, lengths = sequences.slots[rows], sequences.lengths[rows]
        read = self._cache.lengths[slots]
        if (bad := read > lengths).any():
            row = int(bad.argmax())
            raise ValueError(
                f"slot {slots[row]}: the drafter has read {read[row] - 1} tokens of a sequence of {lengths[row]}; "
                "release the slot before another sequence takes it"
            )
        behind = np.flatnonzero(read < lengths)
        if not behind.size:
            return
        rows, slots, read = rows[behind], slots[behind], read[behind]
        unread = lengths[behind] - read
        said = np.column_stack([np.full(len(rows), BOS), sequences.tokens[rows]])
        column = np.arange(unread.max())
        place = np.minimum(read[:, None] + column, said.shape[1] - 1)
        self._model.forward(np.take_along_axis(said, place, axis=1), unread, self._cache, slots)
        self._cache.commit(slots, np.where(column < unread[:, None], column, -1))

    def _logits(self, sequences: Sequences, drafts: IntArray, count: IntArray) -> FloatArray:
        """Read node 0 and the drafts so far `[b, n]`: logits behind each `[b, n + 1, V]`, 0 beyond `count`."""
        said = np.column_stack([np.full(len(count), BOS), sequences.tokens])
        nodes = np.column_stack([said[np.arange(len(count)), sequences.lengths], drafts])
        size = nodes.shape[1]
        real = np.arange(size) <= count[:, None]
        rows = np.flatnonzero(count)
        logits = np.zeros((*nodes.shape, self._model.vocabulary_size))
        forward = self._model.forward(
            nodes[rows],
            real[rows].sum(axis=1),
            self._cache,
            sequences.slots[rows],
            visible=self.topology.visible[:size, :size],
            depth=self.topology.depth[:size],
        )
        logits[rows] = np.where(real[rows, :, None], forward.logits, 0)
        return logits

    def release(self, slots: IntArray) -> None:
        """Forget the sequences in those slots `[b]`."""
        self._cache.release(slots)
