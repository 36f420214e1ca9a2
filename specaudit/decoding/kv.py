"""A paged KV cache: pages of a common pool per request, commit and roll back.

Source: Kwon et al., "Efficient memory management for large language model serving with PagedAttention", SOSP 2023.
"""

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray

_SCRAP = 0
"""The page that padding is written to and read from; no slot ever holds it."""


class PagedCache:
    """Keys and values of every slot, in pages that are handed out from one pool.

    A slot's entries are numbered from 0. Those below its length are committed; behind them lie the pending ones
    of its last forward pass, which `commit` keeps or the next pass overwrites.

    Args:
        slots: number of sequences held at once.
        layers: attention layers of the model.
        heads: KV heads of a layer.
        width: size of a head.
        tokens: room for that many tokens over all slots together, in whole pages; None for a pool that grows.
        page: tokens of a page.

    Raises:
        ValueError: a size is below 1.
    """

    def __init__(
        self, slots: int, *, layers: int, heads: int, width: int, tokens: int | None = None, page: int = 16
    ) -> None:
        room = page if tokens is None else tokens
        if (smallest := min(slots, layers, heads, width, room, page)) < 1:
            raise ValueError(f"a KV cache needs sizes of at least 1, got {smallest}")
        self.page = page
        self._grows = tokens is None
        pages = -(-room // page)
        self._keys = np.zeros((layers, 1 + pages, heads, page, width))
        self._values = np.zeros_like(self._keys)
        # Lowest page on top, so that pages are handed out in order.
        self._free = np.arange(pages, 0, -1)
        self._table = np.full((slots, 1), _SCRAP)
        self._held = np.zeros(slots, dtype=np.int64)
        self._lengths = np.zeros(slots, dtype=np.int64)
        self._pending = np.zeros(slots, dtype=np.int64)

    @property
    def lengths(self) -> IntArray:
        """Committed tokens of every slot `[slots]`."""
        return self._lengths.copy()

    @property
    def free_pages(self) -> int:
        """Pages that no slot holds."""
        return len(self._free)

    def reserve(self, slots: IntArray, tokens: IntArray) -> BoolArray:
        """Make room for that many more tokens in each slot, first come first served.

        Returns:
            Which slots have the room `[b]`; none behind the first that must wait gets new pages.
        """
        wanted = -(-(self._lengths[slots] + tokens) // self.page)
        missing = np.maximum(wanted - self._held[slots], 0)
        queue = missing.cumsum()
        if self._grows and queue.size and queue[-1] > self.free_pages:
            self._grow(int(queue[-1]) - self.free_pages)
        granted: BoolArray = (missing == 0) | (queue <= self.free_pages)
        self._hand_out(slots[granted], missing[granted])
        return granted

    def extend(self, slots: IntArray, count: IntArray) -> None:
        """Open `count` pending entries behind the committed ones of each slot `[b]`; older pending ones are gone.

        Raises:
            ValueError: the pool has no room for them.
        """
        if not (room := self.reserve(slots, count)).all():
            row = int((~room).argmax())
            raise ValueError(
                f"the KV pool has no room for {count[row]} more tokens in slot {slots[row]}: "
                "reserve() them first, and release() another slot where it says False"
            )
        self._pending[slots] = count

    def write(self, layer: int, slots: IntArray, keys: FloatArray, values: FloatArray) -> None:
        """Store keys and values `[b, T, G, W]` behind the committed ones.

        Padding lands behind the pending entries, where nobody looks, or beyond the slot's pages, on the scrap page.
        """
        page, offset = self._places(slots, self._lengths[slots, None] + np.arange(keys.shape[1]))
        self._keys[layer, page, :, offset] = keys
        self._values[layer, page, :, offset] = values

    def read(self, layer: int, slots: IntArray, pages: int) -> tuple[FloatArray, FloatArray]:
        """Return keys and values of the first pages of each slot, in order, `[b, P, G, page, W]` both.

        Entries that are neither committed nor pending hold anything finite: the mask hides them.
        """
        held = self._table[slots, :pages]
        return self._keys[layer][held], self._values[layer][held]

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep tokens of the slots' last forward pass and roll back the rest.

        Rolling back costs nothing: entries beyond the length are overwritten by the next pass. The kept entries
        of a tree's path are moved together first.

        Args:
            slots: `[b]`.
            kept: indices into the tokens of that pass, ascending, padded with −1 on the right, `[b, n]`.

        Raises:
            ValueError: an index is beyond the tokens of the pass.
        """
        if (beyond := (kept >= self._pending[slots, None]).any(axis=1)).any():
            row = int(beyond.argmax())
            slot = int(slots[row])
            raise ValueError(f"slot {slot} cannot keep tokens {kept[row].tolist()}: {self._pending[slot]} are pending")
        if ((kept >= 0) & (kept != np.arange(kept.shape[1]))).any():
            self._gather(slots, kept)
        self._lengths[slots] += (kept >= 0).sum(axis=1)
        self._pending[slots] = 0

    def release(self, slots: IntArray) -> None:
        """Forget everything in those slots and give their pages back `[b]`."""
        held = np.arange(self._table.shape[1]) < self._held[slots, None]
        self._free = np.concatenate([self._free, self._table[slots][held]])
        self._table[slots] = _SCRAP
        self._held[slots] = self._lengths[slots] = self._pending[slots] = 0

    def _places(self, slots: IntArray, entries: IntArray) -> tuple[IntArray, IntArray]:
        """Page and offset of entries `[b, n]` of the slots; those beyond their pages lie in the scrap page."""
        column, offset = np.divmod(entries, self.page)
        inside = np.minimum(column, self._table.shape[1] - 1)
        return np.where(column == inside, self._table[slots[:, None], inside], _SCRAP), offset

    def _gather(self, slots: IntArray, kept: IntArray) -> None:
        """Move the kept pending entries of each slot to the front of the pending ones."""
        first = self._lengths[slots, None]
        real = kept >= 0
        page, offset = (at[real] for at in self._places(slots, first + kept))
        new_page, new_offset = (at[real] for at in self._places(slots, first + np.arange(kept.shape[1])))
        for pool in (self._keys, self._values):
            pool[:, new_page, :, new_offset] = pool[:, page, :, offset]

    def _hand_out(self, slots: IntArray, pages: IntArray) -> None:
        """Append that many free pages to the table of each slot `[b]`."""
        total = int(pages.sum())
        if not total:
            return
        row = np.repeat(np.arange(len(slots)), pages)
        column = self._held[slots][row] + np.arange(total) - (pages.cumsum() - pages)[row]
        if (short := int(column.max()) + 1 - self._table.shape[1]) > 0:
            self._table = np.pad(self._table, ((0, 0), (0, short)), constant_values=_SCRAP)
        self._table[slots[row], column] = self._free[::-1][:total]
        self._free = self._free[:-total]
        self._held[slots] += pages

    def _grow(self, pages: int) -> None:
        """Enlarge the pool by at least that many pages, and at least twofold."""
        old = self._keys.shape[1]
        more = max(pages, old)
        pad = ((0, 0), (0, more), (0, 0), (0, 0), (0, 0))
        self._keys, self._values = np.pad(self._keys, pad), np.pad(self._values, pad)
        self._free = np.concatenate([np.arange(old + more - 1, old - 1, -1), self._free])
