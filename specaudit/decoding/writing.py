"""What a step leaves behind in the rows of the batch."""

from dataclasses import replace

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.batch import Rows
from specaudit.decoding.block import Executed
from specaudit.decoding.reading import nodes
from specaudit.decoding.scheduler import Plan
from specaudit.decoding.stopping import Trimmed
from specaudit.decoding.verify.verified import Verified


def append(rows: Rows, speaking: IntArray, executed: Executed) -> None:
    """Append what left the engine to the rows that spoke `[b]`, and log their step."""
    out, emitted = executed.verified.out, executed.trimmed.emitted
    column = np.arange(out.shape[1])
    row, place = np.nonzero(column < emitted[:, None])
    rows.make_room("tokens", int((rows.lengths[speaking] + emitted).max()))
    rows.make_room("log", int(rows.steps[speaking].max()) + 1)
    rows.tokens[speaking[row], rows.lengths[speaking[row]] + place] = out[row, place]
    if executed.block.rules.grammars is not None:
        rows.grammar[speaking] = executed.block.rules.grammars.run(rows.grammar[speaking], out, emitted)
    rows.lengths[speaking] += emitted
    rows.string[speaking] = executed.trimmed.string
    rows.stopped[speaking] = executed.trimmed.stopped
    drafted = executed.drafts.count
    ragged, mixed = drafted.max() > drafted.min(), len(np.unique(rows.rules[speaking])) > 1
    batch = np.broadcast_to([ragged, mixed], (len(speaking), 2))
    rows.log[speaking, rows.steps[speaking]] = np.column_stack([drafted, executed.accepted, emitted, batch])
    rows.steps[speaking] += 1


def break_off(rows: Rows, speaking: IntArray, p: FloatArray, verified: Verified, trimmed: Trimmed) -> Trimmed:
    """Emit no last token where a row's rules leave none, and end the row; `p` are the target's laws `[b, K + 1, V]`."""
    every = np.arange(len(p))
    possible = p[every, nodes(verified)[every, verified.n_accepted]].any(axis=1)
    broken = ~possible & (trimmed.emitted > verified.n_accepted)
    rows.broken[speaking] = broken
    return replace(trimmed, emitted=trimmed.emitted - broken)


def remember(rows: Rows, speaking: IntArray, features: FloatArray) -> None:
    """Keep the target's hidden states `[b, F]` where it drew the last tokens, for the drafter."""
    if not rows.features.shape[1]:
        rows.features = np.zeros((len(rows), features.shape[1]))
    rows.features[speaking] = features


def mark_read(rows: Rows, plan: Plan, kept: IntArray) -> int:
    """Note how far the rows of a plan are read; return how many tokens had been read before, and forgotten since."""
    replayed = np.minimum(rows.read_ever[plan.rows] - rows.read[plan.rows], plan.tokens).clip(min=0)
    rows.read[plan.rows] += kept
    rows.read_ever[plan.rows] = np.maximum(rows.read_ever[plan.rows], rows.read[plan.rows])
    return int(replayed.sum())
