"""What the target reads in a step, and which of it is worth remembering."""

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.batch import Rows
from specaudit.decoding.block import Executed
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.models.interface import BOS, Cache, Forward, Model
from specaudit.decoding.scheduler import Plan
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.tree.verify import VerifiedTree
from specaudit.decoding.verify.verified import Verified


def read(
    target: Model, cache: Cache, rows: Rows, plan: Plan, drafts: Drafts, computed: IntArray, topology: Topology | None
) -> Forward:
    """Let the target read what a plan lets it read, and the drafts.

    Args:
        target: reads.
        cache: its memory.
        rows: the batch.
        plan: who takes part `[b]`.
        drafts: the drafts of those rows that speak `[s, W]`.
        computed: tokens that each reads, drafts included `[b]`.
        topology: shape of the trees that are drafted; None where chains are.

    Returns:
        What it computes at the last known token and at the drafts of each row that speaks, `[s, W + 1, …]`.
    """
    tokens = _unread(rows, plan, drafts)
    slots, width = rows.slot[plan.rows], drafts.tokens.shape[1]
    if topology is None or not width:
        forward = target.forward(tokens, computed, cache, slots)
        place = plan.tokens[plan.ends, None] - 1 + np.arange(width + 1)
        return _at(forward, np.flatnonzero(plan.ends), np.minimum(place, tokens.shape[1] - 1))
    # A tree's mask is one for all rows, hence two passes: rows with a tree, and those that read known tokens.
    trees = plan.ends & (plan.tokens == 1)
    forward = target.forward(
        tokens[trees, : width + 1],
        computed[trees],
        cache,
        slots[trees],
        visible=topology.visible[: width + 1, : width + 1],
        depth=topology.depth[: width + 1],
    )
    if trees.all():
        return forward
    known = ~trees
    behind = target.forward(tokens[known], computed[known], cache, slots[known])
    ends = np.flatnonzero(plan.ends[known])
    last = np.repeat(plan.tokens[known][ends, None] - 1, width + 1, axis=1)
    return _interleaved(trees[plan.ends], forward, _at(behind, ends, last))


def nodes(verified: Verified) -> IntArray:
    """Which of its new tokens, from the last known one on, each row keeps, in order `[b, n]`."""
    if isinstance(verified, VerifiedTree):
        return verified.path
    return np.broadcast_to(np.arange(verified.out.shape[1]), verified.out.shape)


def kept(plan: Plan, count: IntArray, executed: Executed | None) -> IntArray:
    """Which of its new tokens each row keeps `[b, n]`, the first `count`; in a tree those on the accepted path."""
    column = np.arange(count.max())
    places = np.where(column < count[:, None], column, -1)
    if executed is not None and isinstance(executed.verified, VerifiedTree):
        ends = np.flatnonzero(plan.ends)
        row, place = np.nonzero(np.arange(executed.verified.path.shape[1]) < executed.trimmed.emitted[:, None])
        known = plan.tokens[ends[row]] - 1
        places[ends[row], known + place] = known + executed.verified.path[row, place]
    return places


def _unread(rows: Rows, plan: Plan, drafts: Drafts) -> IntArray:
    """Collect what the target is to read `[b, T]`: known tokens, then drafts."""
    width = drafts.tokens.shape[1]
    longest = int(plan.tokens.max())
    place = rows.read[plan.rows, None] + np.arange(longest)
    place = np.minimum(place, rows.lengths[plan.rows, None])
    known = rows.tokens[plan.rows[:, None], place - 1] if rows.tokens.shape[1] else np.full_like(place, BOS)
    tokens = np.zeros((len(plan.rows), longest + width), dtype=np.int64)
    tokens[:, :longest] = np.where(place == 0, BOS, known)
    speaking = np.flatnonzero(plan.ends)
    tokens[speaking[:, None], plan.tokens[speaking, None] + np.arange(width)] = drafts.tokens
    return tokens


def _at(forward: Forward, rows: IntArray, place: IntArray) -> Forward:
    """Select places `[r, n]` of some rows `[r]` of a forward pass."""
    features = None if forward.features is None else forward.features[rows[:, None], place]
    return Forward(logits=forward.logits[rows[:, None], place], features=features)


def _interleaved(first: BoolArray, some: Forward, others: Forward) -> Forward:
    """Put rows of two passes where they belong: those of `some` where `first` is true."""
    order = np.argsort(np.argsort(~first, kind="stable"))
    logits = np.concatenate([some.logits, others.logits])[order]
    if some.features is None or others.features is None:
        return Forward(logits=logits)
    return Forward(logits=logits, features=np.concatenate([some.features, others.features])[order])
