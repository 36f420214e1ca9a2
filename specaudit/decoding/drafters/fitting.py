"""Fitting a drafter to its target: on what the target itself says, from a seed, in seconds."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.gradients import Node, gradients
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.drafters.unigram import UnigramDrafter
from specaudit.decoding.models.interface import BOS, Model
from specaudit.decoding.processors import softmax
from specaudit.decoding.sampling import inverse_cdf


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What the target says by itself, and what it has in mind meanwhile.

    Attributes:
        tokens: `[n, T]`; the first of a whole sequence is BOS.
        features: the target's features at each token `[n, T, F]`.
        laws: the target's law of the token behind each, at temperature 1, `[n, T, V]`.
    """

    tokens: IntArray
    features: FloatArray
    laws: FloatArray

    def contexts(self, length: int) -> Sequences:
        """The first `length` tokens behind BOS of each sequence, as a drafter sees them, in slots 0…n−1."""
        count = len(self.tokens)
        return Sequences(
            slots=np.arange(count),
            tokens=self.tokens[:, 1 : 1 + length],
            lengths=np.full(count, length),
            features=self.features[:, length - 1],
        )

    def sample(self, rng: np.random.Generator, count: int, width: int) -> Self:
        """Draw `count` windows of `width` tokens, anywhere in the sequences."""
        rows, length = self.tokens.shape
        row = rng.integers(0, rows, (count, 1))
        place = rng.integers(0, length - width + 1, (count, 1)) + np.arange(width)
        return type(self)(
            tokens=self.tokens[row, place], features=self.features[row, place], laws=self.laws[row, place]
        )


def observe(target: Model, *, sequences: int, length: int, seed: int) -> Corpus:
    """Let the target speak from BOS on, at temperature 1.

    Args:
        target: a model with features.
        sequences: number of sequences `n`.
        length: tokens of each, BOS included, `T`.
        seed: of the tokens.

    Raises:
        ValueError: the target has no features.
    """
    uniforms = np.random.default_rng(seed).random((length, sequences))
    slots, one = np.arange(sequences), np.ones(sequences, dtype=np.int64)
    cache = target.cache(sequences)
    tokens = np.full((sequences, length + 1), BOS)
    features, laws = [], []
    for i in range(length):
        forward = target.forward(tokens[:, i : i + 1], one, cache, slots)
        if forward.features is None:
            raise ValueError(f"{type(target).__name__} has no features to fit a head to; draft with a small model")
        cache.commit(slots, np.zeros((sequences, 1), dtype=np.int64))
        features.append(forward.features[:, 0])
        laws.append(softmax(forward.logits[:, 0]))
        tokens[:, i + 1] = inverse_cdf(laws[-1], uniforms[i])
    return Corpus(tokens=tokens[:, :length], features=np.stack(features, axis=1), laws=np.stack(laws, axis=1))


def fit_unigram(corpus: Corpus) -> UnigramDrafter:
    """Fit the baseline: the mean of the target's laws over its own contexts."""
    return UnigramDrafter(corpus.laws.mean(axis=(0, 1)))


class Head(Protocol):
    """What can be fitted."""

    window: int
    """Number of tokens, one after the other, that the loss looks at."""

    @property
    def parameters(self) -> list[Node]:
        """The weights to fit."""
        ...

    def loss(self, windows: Corpus) -> Node:
        """Mean loss over windows `[b, window]`."""
        ...


def fit(head: Head, corpus: Corpus, *, seed: int, steps: int = 500, batch: int = 64, rate: float = 1e-2) -> FloatArray:
    """Fit a head in place, by Adam with a step size that falls to 0; return the loss at each step `[steps]`.

    The batches are small enough that BLAS does not spread the products over threads, which costs more than it saves.

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015.

    Args:
        head: where to begin.
        corpus: the target's own sequences.
        seed: of the choice of windows; one seed, one result.
        steps: number of steps.
        batch: windows of a step.
        rate: step size at the first step.
    """
    rng = np.random.default_rng(seed)
    nodes = head.parameters
    mean, square = ([np.zeros_like(node.value) for node in nodes] for _ in range(2))
    losses = np.empty(steps)
    for step in range(steps):
        loss = head.loss(corpus.sample(rng, batch, head.window))
        losses[step] = loss.value
        now = rate * (1 - step / steps) * np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        for node, gradient, m, v in zip(nodes, gradients(loss, nodes), mean, square, strict=True):
            m += 0.1 * (gradient - m)
            v += 0.001 * (gradient * gradient - v)
            node.value = node.value - now * m / (np.sqrt(v) + 1e-8)
    return losses
