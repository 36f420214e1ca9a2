"""A model that remembers everything and forgives nothing, and what a drafter is asked with."""

import numpy as np

from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.models.interface import BOS, Forward
from specaudit.decoding.processors import softmax


def law(logits, drafts):
    """The plain law of temperature 1."""
    return softmax(logits)


def sequences(rows, slots=None, features=None):
    """Sequences of the given lists of tokens, padded."""
    lengths = np.array([len(row) for row in rows])
    tokens = np.full((len(rows), lengths.max(initial=0)), -1)
    for padded, row in zip(tokens, rows, strict=True):
        padded[: len(row)] = row
    slots = np.arange(len(rows)) if slots is None else np.asarray(slots)
    return Sequences(slots=slots, tokens=tokens, lengths=lengths, features=features)


class HistoryCache:
    """The tokens read in each slot, and those of the last pass that are not committed yet."""

    def __init__(self, slots):
        self.read = [[] for _ in range(slots)]
        self.pending = [[] for _ in range(slots)]

    @property
    def lengths(self):
        return np.array([len(tokens) for tokens in self.read])

    def commit(self, slots, kept):
        for slot, row in zip(slots, kept, strict=True):
            self.read[slot] += [self.pending[slot][i] for i in row if i >= 0]
            self.pending[slot] = []

    def release(self, slots):
        for slot in slots:
            self.read[slot], self.pending[slot] = [], []


class HistoryModel:
    """Its logits are a scramble of all that was said, so that one wrong token in a cache changes them."""

    def __init__(self, vocabulary_size, sharpness=2.0):
        self.vocabulary_size = vocabulary_size
        self.sharpness = sharpness
        self.passes = []

    def cache(self, slots, *, tokens=None):
        return HistoryCache(slots)

    def behind(self, history):
        """Logits `[V]` behind BOS and these tokens."""
        seed = [token + 1 for token in (BOS, *history)]
        return self.sharpness * np.random.default_rng(seed).normal(size=self.vocabulary_size)

    def forward(self, tokens, count, cache, slots, *, visible=None, depth=None):
        assert len(set(slots.tolist())) == len(slots)
        assert tokens.shape[0] == len(count) == len(slots)
        assert ((count >= 1) & (count <= tokens.shape[1])).all()
        self.passes.append([row[:n].tolist() for row, n in zip(tokens, count, strict=True)])
        logits = np.full((*tokens.shape, self.vocabulary_size), np.nan)
        for row, slot in enumerate(slots):
            cache.pending[slot] = tokens[row, : count[row]].tolist()
            for i in range(count[row]):
                bos, *history = cache.read[slot] + cache.pending[slot][: i + 1]
                assert bos == BOS
                assert BOS not in history
                logits[row, i] = self.behind(history)
        return Forward(logits=logits)
