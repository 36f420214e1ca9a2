"""How good a drafter is: the share of its drafts that the target would accept."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Drafter, Sequences
from specaudit.decoding.models.interface import BOS, Model
from specaudit.decoding.processors import softmax


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What becomes of the drafts of one step, in the mean over contexts.

    Attributes:
        per_position: at each position, the probability `[K]` that a draft is accepted, given that those before it
            were; NaN where nothing is drafted.
        accepted: accepted drafts per step, 0 to K; the mean acceptance length is one more.
    """

    per_position: FloatArray
    accepted: float


def measure_acceptance(
    drafter: Drafter, target: Model, contexts: Sequences, *, draft_tokens: int, seed: int
) -> Acceptance:
    """Let the drafter continue each context once, and the target judge it, at temperature 1.

    A draft of `q` is accepted with the probability Σ min(p, q), whatever was drawn: that is averaged, weighted
    by the probability that the drafts before it survive.

    Args:
        drafter: with room for a slot per context.
        target: the model that judges.
        contexts: sequences in slots 0, 1, …, with the target's features if the drafter wants them.
        draft_tokens: drafts per step `K`.
        seed: of the drafts.
    """
    batch = len(contexts.lengths)
    uniforms = np.random.default_rng(seed).random((batch, draft_tokens))
    asked = np.full(batch, draft_tokens)
    drafts = drafter.draft(contexts, asked, uniforms, lambda logits, _: softmax(logits))
    drafter.release(contexts.slots)
    p = _target_laws(target, contexts, drafts.tokens)
    made = np.arange(draft_tokens) < drafts.count[:, None]
    overlap = np.where(made, np.minimum(p, drafts.q).sum(axis=2), 0)
    entry = drafts.tokens[..., None]
    p_draft, q_draft = (np.take_along_axis(laws, entry, axis=2)[..., 0] for laws in (p, drafts.q))
    survival = np.where(made, np.minimum(1, p_draft / np.where(made, q_draft, 1)), 0).cumprod(axis=1)
    reached = made * np.column_stack([np.ones(batch), survival[:, :-1]])
    total = reached.sum(axis=0)
    accepted = (reached * overlap).sum(axis=0)
    per_position = np.divide(accepted, total, out=np.full(draft_tokens, np.nan), where=total > 0)
    return Acceptance(per_position=per_position, accepted=float(accepted.sum() / batch))


def _target_laws(target: Model, contexts: Sequences, drafts: IntArray) -> FloatArray:
    """Laws of the target at each draft `[b, K, V]`, read with the contexts in one pass."""
    batch, width = drafts.shape
    column = np.arange(width)
    tokens = np.full((batch, 1 + contexts.tokens.shape[1] + width), BOS)
    tokens[:, 1 : 1 + contexts.tokens.shape[1]] = contexts.tokens
    place = 1 + contexts.lengths[:, None] + column
    np.put_along_axis(tokens, place, drafts, axis=1)
    slots = np.arange(batch)
    forward = target.forward(tokens, contexts.lengths + 1 + width, target.cache(batch), slots)
    return softmax(np.take_along_axis(forward.logits, place[..., None] - 1, axis=1))
