"""Drive a model as a decoder does, and as it would be read in one go."""

import numpy as np

from specaudit.decoding.models.interface import BOS, Cache, Forward, Model


def prompts(rng, batch, length, vocabulary):
    """`[batch, length]` random tokens, BOS first."""
    return np.column_stack([np.full(batch, BOS), rng.integers(0, vocabulary, (batch, length - 1))])


def read_all(model: Model, tokens) -> Forward:
    """One forward pass over whole sequences, in an empty cache."""
    batch, width = tokens.shape
    return model.forward(tokens, np.full(batch, width), model.cache(batch), np.arange(batch))


def keep_prefix(cache: Cache, slots, kept) -> None:
    """Commit the first `kept` tokens of the last pass of each slot."""
    index = np.arange(max(kept, default=0))
    cache.commit(slots, np.where(index < np.asarray(kept)[:, None], index, -1))


def read_on(model: Model, cache: Cache, slots, tokens, count=None) -> Forward:
    """Read new tokens and commit all that are real."""
    count = np.full(len(tokens), tokens.shape[1]) if count is None else count
    out = model.forward(tokens, count, cache, slots)
    keep_prefix(cache, slots, count)
    return out
