"""Faults of what the target remembers and sees: keys and values, masks, recurrent states."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.draft_length import FixedLength
from specaudit.decoding.kv import PagedCache
from specaudit.decoding.models.recurrent import RecurrentModel, SnapshotCache
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape, Weights
from specaudit.decoding.worlds import World
from specaudit.mutants.registry import Dose, register


class LateCache(PagedCache):
    """A cache whose entries from `start` on are read from the page before theirs."""

    def __init__(self, slots: int, *, start: int, **sizes: Any) -> None:
        super().__init__(slots, **sizes)
        self.start = start

    def read(self, layer: int, slots: IntArray, pages: int) -> tuple[FloatArray, FloatArray]:
        """Read the late entries where they are not."""
        keys, values = super().read(layer, slots, pages)
        late = np.arange(pages * self.page).reshape(pages, 1, self.page, 1) >= self.start
        return np.where(late, np.roll(keys, 1, axis=1), keys), np.where(late, np.roll(values, 1, axis=1), values)


class LateKv(Transformer):
    """From token 100 on, the KV entries are read from the page before theirs.

    Seen: a class of faults at page boundaries, which no short test reaches.

    Killed by: LAW3 (sampled).
    """

    def __init__(
        self, shape: Shape, weights: Weights, *, feature_layers: tuple[int, ...] | None = None, start: int = 100
    ) -> None:
        super().__init__(shape, weights, feature_layers=feature_layers)
        self.cache_type = partial(LateCache, start=start)


class ShortCache(PagedCache):
    """A cache that loses an entry with every rollback."""

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Where tokens are rolled back, roll one too many back."""
        number = (kept >= 0).sum(axis=1)
        number -= (number < self._pending[slots]) & (number > 0)
        super().commit(slots, np.where(np.arange(kept.shape[1]) < number[:, None], kept, -1))


class KvOffByOne(Transformer):
    """After a rejection the KV cache is cut one entry too short, so that the last accepted token is forgotten.

    Seen: a classic of rolling back by length, where the token still to be read is counted as read.

    Killed by: LAW1, LAW3, GRD1 (sampled).
    """

    cache_type = ShortCache


class UntrimmedCache(PagedCache):
    """A cache that never rolls back."""

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Keep whatever is pending."""
        pending = self._pending[slots, None]
        column = np.arange(pending.max(initial=0))
        super().commit(slots, np.where(column < pending, column, -1))


class KvNotRolledBack(Transformer):
    """Rejected drafts stay in the KV cache, where all later tokens see them.

    Seen: ml-explore/mlx-lm issue 846, where trimming a cache that cannot be trimmed did nothing.

    Killed by: LAW1, LAW3, GRD1 (sampled).
    """

    cache_type = UntrimmedCache


class MaskLowerTriangular(Transformer):
    """Several new tokens behind cached ones are masked by the lower triangle, from the corner of the rectangle.

    A single token needs no mask, so plain decoding is right.

    Seen: a classic of `scaled_dot_product_attention(is_causal=True)`, whose mask is aligned to the top left.

    Killed by: LAW1, LAW3, GRD1 (sampled).
    """

    def mask(self, committed: IntArray, width: int, size: int, visible: BoolArray | None) -> BoolArray:
        """Let token i see the first i + 1 entries, wherever it stands."""
        if width == 1:
            return super().mask(committed, width, size, visible)
        return np.broadcast_to(np.tri(width, size, dtype=np.bool_), (len(committed), width, size))


class TreeSiblingLeak(Transformer):
    """A node of a draft tree attends to its siblings, as if they stood before it in the text.

    Seen: a classic of tree attention, with a mask by depth instead of by ancestry.

    Killed by: LAW1, LAW3 (sampled).
    """

    def mask(self, committed: IntArray, width: int, size: int, visible: BoolArray | None) -> BoolArray:
        """Show each node those with the same ancestors."""
        if visible is not None:
            ancestors = visible & ~np.eye(width, dtype=np.bool_)
            visible = visible | (ancestors[:, None] == ancestors).all(axis=2)
        return super().mask(committed, width, size, visible)


class UnrestoredCache(SnapshotCache):
    """A state that is never restored from a snapshot."""

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Go on from the state behind the last pending token, whatever was kept."""
        reached = self._pending[slots]
        super().commit(slots, kept)
        self._chosen[slots] = reached


class RecurrentNoRollback(RecurrentModel):
    """The recurrent state keeps what rejected drafts did to it.

    Seen: ml-explore/mlx-lm issue 846, repaired by pull request 1109, which refuses such models.

    Killed by: LAW1, LAW3 (sampled).
    """

    cache_type = UnrestoredCache


class StaleCache(SnapshotCache):
    """A state that passes without drafts look for where only passes without drafts put it."""

    def __init__(self, slots: int, width: int) -> None:
        super().__init__(slots, width)
        self._drafted = np.zeros(slots, dtype=np.bool_)

    def commit(self, slots: IntArray, kept: IntArray) -> None:
        """Remember whose state is one of several: a prompt's is not, it is read for its last state alone."""
        self._drafted[slots] = self._lengths[slots] > 0
        super().commit(slots, kept)

    def state(self, slots: IntArray, count: IntArray) -> FloatArray:
        """Start a pass of one token from the state behind the first token of the pass before."""
        chosen = self._chosen[slots]
        stale = (count == 1) & self._drafted[slots]
        return self._snapshots[slots, np.where(stale, np.minimum(chosen, 1), chosen)]


class EveryOtherStep(FixedLength):
    """Drafts at every other step, as a drafter does that does not always find something to propose."""

    def choose(self, current: IntArray, running: int, most: int) -> IntArray:
        """Choose what `learn` left."""
        return current

    def learn(self, current: IntArray, drafted: IntArray, accepted: IntArray, most: int) -> IntArray:
        """Draft where the last step did not."""
        return np.where(drafted > 0, 0, most)


class RecurrentStaleAfterNodraft(RecurrentModel):
    """A step without drafts starts from the first snapshot of the step before, not from that of its last token kept.

    Drafters that draft at every step never show it.

    Seen: vllm-project/vllm issue 39273, with prompt lookup on a hybrid model.

    Killed by: LAW1, LAW3 (sampled).
    """

    cache_type = StaleCache


def transformer_of(world: World) -> Transformer:
    """Return the target of a world, if there are keys and values to get wrong.

    Raises:
        ValueError: it is no transformer.
    """
    if not isinstance(world.target, Transformer):
        raise ValueError(
            f"world {world.name} has no transformer for a target; this fault needs one, as transformer8 has"
        )
    return world.target


def _with_transformer(fault: Callable[..., Transformer]) -> Callable[..., SpeculativeDecoder]:
    """Plant a fault in a target that is a transformer."""

    def build(world: World, **options: Any) -> SpeculativeDecoder:
        right = transformer_of(world)
        target = fault(right.shape, right.weights, feature_layers=right.feature_layers)
        return SpeculativeDecoder(replace(world, target=target), **options)

    return build


def _late_kv(world: World, *, dose: float, **options: Any) -> SpeculativeDecoder:
    """Let the KV read go wrong from token `dose` on."""
    return _with_transformer(partial(LateKv, start=int(dose)))(world, **options)


def _with_recurrent(fault: type[RecurrentModel], **defaults: Any) -> Callable[..., SpeculativeDecoder]:
    """Plant a fault in a target with a recurrent state."""

    def build(world: World, **options: Any) -> SpeculativeDecoder:
        right = world.target
        if not isinstance(right, RecurrentModel):
            raise ValueError(f"world {world.name} has no recurrent target; this fault needs one, as recurrent8 has")
        target = fault(right.embedding, right.gates, right.output, right.head)
        return SpeculativeDecoder(replace(world, target=target), **defaults | options)

    return build


register(
    "late-kv",
    family="state",
    fault=LateKv,
    build=_late_kv,
    world="transformer8",
    dose=Dose(default=100, low=16, high=1_000_000),
)
register("kv-off-by-one", family="state", fault=KvOffByOne, build=_with_transformer(KvOffByOne), world="transformer8")
register(
    "kv-not-rolled-back",
    family="state",
    fault=KvNotRolledBack,
    build=_with_transformer(KvNotRolledBack),
    world="transformer8",
)
register(
    "mask-lower-triangular",
    family="state",
    fault=MaskLowerTriangular,
    build=_with_transformer(MaskLowerTriangular),
    world="transformer8",
)
register(
    "recurrent-no-rollback",
    family="state",
    fault=RecurrentNoRollback,
    build=_with_recurrent(RecurrentNoRollback),
    world="recurrent8",
)
register(
    "recurrent-stale-after-nodraft",
    family="state",
    fault=RecurrentStaleAfterNodraft,
    build=_with_recurrent(RecurrentStaleAfterNodraft, draft_length=EveryOtherStep()),
    world="recurrent8",
)
register(
    "tree-sibling-leak",
    family="state",
    fault=TreeSiblingLeak,
    build=_with_transformer(TreeSiblingLeak),
    world="transformer8-tree",
)
