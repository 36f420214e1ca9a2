"""The state of requests, a row each, and the persistent batch, whose rows move when requests leave it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.streams import RowStreams


@dataclass(kw_only=True)
class Rows:
    """All that is known of `n` requests, in arrays whose first axis is the request.

    Attributes:
        arrival: rank of each request among all that ever came `[n]`.
        submission: number of the submission that it came with `[n]`.
        place: its place there `[n]`.
        rules: number of its set of sampling parameters and stop rules `[n]`.
        cap: most tokens that it may emit `[n]`.
        prompt_lengths: tokens of its prompt `[n]`.
        lengths: tokens of prompt and output `[n]`.
        tokens: those tokens `[n, H]`, padded with −1.
        slot: where target and drafter remember it `[n]`; −1 while it waits.
        read: tokens that the target remembers of it, BOS included `[n]`.
        read_ever: most that it ever remembered `[n]`; what is read again below that is replayed.
        draft_length: drafts per step that it is worth, where that adapts `[n]`.
        draft_limit: drafts per step that it asked for at most `[n]`.
        grammar: state of its grammar behind the output `[n]`.
        string: state of the search for its stop strings `[n]`.
        stopped: whether it has come to a stop `[n]`.
        broken: whether its rules leave no token to go on with `[n]`.
        steps: steps that it took `[n]`.
        log: drafted, accepted, emitted tokens of each step `[n, S, 3]`, padded with −1.
        features: the target's hidden states where it drew the last token `[n, F]`; F = 0 where it has none.
        drafting: uniforms for the drafter.
        judging: uniforms for the verifier.
    """

    arrival: IntArray
    submission: IntArray
    place: IntArray
    rules: IntArray
    cap: IntArray
    prompt_lengths: IntArray
    lengths: IntArray
    tokens: IntArray
    slot: IntArray
    read: IntArray
    read_ever: IntArray
    draft_length: IntArray
    draft_limit: IntArray
    grammar: IntArray
    string: IntArray
    stopped: BoolArray
    broken: BoolArray
    steps: IntArray
    log: IntArray
    features: FloatArray
    drafting: RowStreams
    judging: RowStreams

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def output_lengths(self) -> IntArray:
        """Tokens that each request has emitted `[n]`."""
        return self.lengths - self.prompt_lengths

    @property
    def unread(self) -> IntArray:
        """Tokens of each request, BOS included, that the target has yet to read `[n]`; at least the last one."""
        return self.lengths + 1 - self.read

    @property
    def done(self) -> BoolArray:
        """Whether each request has ended: at a stop, at its cap, or for want of a token `[n]`."""
        return self.stopped | self.broken | (self.output_lengths >= self.cap)

    def take(self, index: IntArray | slice) -> "Rows":
        """Select rows."""
        return self._each(lambda column: column.rows(index) if isinstance(column, RowStreams) else column[index])

    def join(self, *others: "Rows") -> "Rows":
        """Append rows; two-dimensional columns get the largest width."""
        every = (self, *others)
        return Rows(**{one.name: _joined([getattr(rows, one.name) for rows in every]) for one in fields(self)})

    def make_room(self, name: str, width: int) -> None:
        """Widen a two-dimensional column to at least `width`, and then for some time to come."""
        column = getattr(self, name)
        if width > column.shape[1]:
            setattr(self, name, _widened(column, max(width, 2 * column.shape[1])))

    def move(self, source: IntArray, destination: IntArray) -> None:
        """Write rows `source` over rows `destination`."""
        for one in fields(self):
            column = getattr(self, one.name)
            if isinstance(column, RowStreams):
                column.put(destination, column.rows(source))
            else:
                column[destination] = column[source]

    def _each(self, change: Callable[[Any], Any]) -> "Rows":
        return Rows(**{one.name: change(getattr(self, one.name)) for one in fields(self)})


class PersistentBatch:
    """The running requests, in rows 0 to n−1 without a gap, as the worker of a real engine keeps them.

    When a request leaves, the last row moves into its place with all that belongs to it; nothing else moves.
    """

    def __init__(self) -> None:
        self._rows: Rows | None = None

    def __len__(self) -> int:
        return 0 if self._rows is None else len(self._rows)

    @property
    def rows(self) -> Rows:
        """The running requests; there must be some."""
        assert self._rows is not None
        return self._rows

    def append(self, rows: Rows) -> None:
        """Let requests run, in rows behind those that do."""
        self._rows = rows if not len(self) else self.rows.join(rows)

    def condense(self, gone: IntArray) -> IntArray:
        """Take requests out, and move the last rows into the gaps.

        Args:
            gone: rows that leave, ascending.

        Returns:
            For every row where it is now, −1 for those that left.
        """
        rows, left = self.rows, len(self) - len(gone)
        moved = np.arange(len(self))
        moved[gone] = -1
        holes = gone[gone < left]
        last = left + np.flatnonzero(moved[left:] >= 0)
        self.move(rows, last, holes)
        moved[last] = holes
        self._rows = rows.take(slice(left)) if left else None
        return moved

    def move(self, rows: Rows, source: IntArray, destination: IntArray) -> None:
        """Move rows, with everything that belongs to the requests."""
        rows.move(source, destination)


def _joined(columns: Sequence[Any]) -> Any:
    first = columns[0]
    if isinstance(first, RowStreams):
        return first.join(*columns[1:])
    if first.ndim == 1:
        return np.concatenate(columns)
    width = max(column.shape[1] for column in columns)
    return np.concatenate([_widened(column, width) for column in columns])


def _widened(column: NDArray[Any], width: int) -> NDArray[Any]:
    """Pad the second axis: with −1 where tokens are counted, with 0 where features are."""
    if column.shape[1] == width:
        return column
    pad = [(0, 0)] * column.ndim
    pad[1] = (0, width - column.shape[1])
    return np.pad(column, pad, constant_values=0 if column.dtype.kind == "f" else -1)
