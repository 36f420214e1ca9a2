"""The drafter of the first papers: a smaller language model over the same vocabulary."""

from collections.abc import Iterator

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.drafters.logits import LogitDrafter
from specaudit.decoding.models.interface import BOS, Model


class SmallModelDrafter(LogitDrafter):
    """Drafts with any model, which remembers each sequence in a slot of its own cache.

    Only tokens that were emitted are ever committed. A block's drafts are read uncommitted, at each position
    from the first one on. By the next call the sequence shows which of them came true: those are committed,
    the others rolled back, and what was emitted beyond them is read. After a fully accepted block that is the
    last draft, which nobody has read yet, and the bonus token.

    Source: Leviathan, Kalman, Matias, ICML 2023, algorithm 1; Chen et al., arXiv:2302.01318, algorithm 2.

    Args:
        model: proposes the tokens.
        slots: number of sequences held at once.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    def __init__(self, model: Model, slots: int, *, greedy: bool = False) -> None:
        super().__init__(model.vocabulary_size, greedy=greedy)
        self._model = model
        self._cache = model.cache(slots)
        # What the last pass over each slot has read without committing it, [slots, n], padded with −1.
        self._pending = np.full((slots, 0), -1)

    def logits(self, sequences: Sequences, num_draft: IntArray, drafts: IntArray) -> Iterator[FloatArray]:
        """Yield the model's logits `[b, V]` behind the sequence, then behind each draft.

        Raises:
            ValueError: a slot has read more than its sequence holds.
        """
        for i in range(num_draft.max(initial=0)):
            rows = np.flatnonzero(num_draft > i)
            if i == 0:
                behind = self._read_emitted(sequences, rows)
            else:
                behind = self._read_drafts(sequences.slots[rows], drafts[rows, :i])
            logits = np.zeros((len(num_draft), self.vocabulary_size))
            logits[rows] = behind
            yield logits

    def release(self, slots: IntArray) -> None:
        """Forget the sequences in those slots `[b]`."""
        self._cache.release(slots)

    def _read_emitted(self, sequences: Sequences, rows: IntArray) -> FloatArray:
        """Catch up on what was emitted, and commit it; return the logits behind those rows `[r, V]`."""
        slots, lengths = sequences.slots[rows], sequences.lengths[rows]
        self._commit_pending(sequences, rows)
        read = self._cache.lengths[slots]
        unread = lengths + 1 - read
        if (bad := unread < 1).any():
            row = int(bad.argmax())
            raise ValueError(
                f"slot {slots[row]}: the drafter has read {read[row] - 1} tokens of a sequence of {lengths[row]}; "
                "release the slot before another sequence takes it"
            )
        column = np.arange(unread.max())
        forward = self._model.forward(_said(sequences, rows, read[:, None] + column), unread, self._cache, slots)
        self._cache.commit(slots, np.where(column < unread[:, None], column, -1))
        behind: FloatArray = forward.logits[np.arange(len(rows)), unread - 1]
        return behind

    def _commit_pending(self, sequences: Sequences, rows: IntArray) -> None:
        """Commit the pending drafts of those rows that came true.

        A sequence's last token is left to be read again: only a forward pass gives the logits behind it.
        """
        slots = sequences.slots[rows]
        pending = self._pending[slots]
        column = np.arange(pending.shape[1])
        place = self._cache.lengths[slots, None] + column
        came_true = (pending >= 0) & (pending == _said(sequences, rows, place))
        came_true &= place < sequences.lengths[rows, None]
        kept = np.where(np.logical_and.accumulate(came_true, axis=1), column, -1)
        some = came_true[:, :1].any(axis=1)
        if some.any():
            self._cache.commit(slots[some], kept[some])
        self._pending[slots] = -1

    def _read_drafts(self, slots: IntArray, drafts: IntArray) -> FloatArray:
        """Read the drafts so far `[b, i]` and leave them pending; return the logits behind them `[b, V]`."""
        width = drafts.shape[1]
        if (missing := width - self._pending.shape[1]) > 0:
            self._pending = np.pad(self._pending, ((0, 0), (0, missing)), constant_values=-1)
        self._pending[slots, :width] = drafts
        return self._model.forward(drafts, np.full(len(slots), width), self._cache, slots).logits[:, -1]


def _said(sequences: Sequences, rows: IntArray, place: IntArray) -> IntArray:
    """Look up what stands at those places `[r, n]` of BOS and the rows' tokens; beyond the end, anything."""
    if not sequences.tokens.size:
        return np.full(place.shape, BOS)
    inside = np.clip(place - 1, 0, sequences.tokens.shape[1] - 1)
    return np.where(place > 0, sequences.tokens[rows[:, None], inside], BOS)
