"""Exact laws: of a chain by multiplication, of a verifier by driving it over all drafts and coin intervals."""

from functools import cache
from itertools import product

import numpy as np

from specaudit.decoding.processors import UNFILTERED


class Prescribed:
    """A uniform source that deals out given coins."""

    def __init__(self, coins):
        self.coins = coins

    def random(self, size, /):
        assert size == self.coins.shape
        return self.coins


def chain_law(model, last, length):
    """Law of the next `length` tokens after `last`, `[V, …, V]`."""
    law = np.array(1.0)
    context = np.array(last)
    for _ in range(length):
        law = law[..., None] * model.probabilities(context, UNFILTERED)
        context = np.broadcast_to(np.arange(model.vocabulary_size), law.shape)
    return law


def block_law(verifier, world, last, width):
    """Law of the block that one step of `width` drafts emits after `last`.

    Returns:
        One array per block length n = 1…width+1: the probabilities of the blocks of that length, `[V] * n`.
    """
    vocabulary = world.vocabulary_size
    drafts = _tuples(vocabulary, width)
    contexts = np.column_stack([np.full(len(drafts), last), drafts])
    p = world.target.probabilities(contexts, UNFILTERED)
    q = world.drafter.model.probabilities(contexts[:, :-1], UNFILTERED)
    drawn = np.take_along_axis(q, drafts[..., None], axis=2)[..., 0]
    possible = drawn.all(axis=1)
    return _drive(verifier, drafts[possible], q[possible], p[possible], drawn[possible])


def _drive(verifier, drafts, q, p, drawn):
    """Run the verifier once per draft and cell of the coins' grid, and add up the cells' volumes."""
    width, vocabulary = drafts.shape[1], p.shape[2]
    at_draft = np.take_along_axis(p[:, :width], drafts[..., None], axis=2)[..., 0]
    accept_edges = _edges(np.minimum(1, at_draft / drawn)[..., None])
    final_edges = _edges(_cdf_breaks(p, q))
    sides = _tuples(2, width)
    draft, side, final = (index.ravel() for index in np.indices((len(drafts), len(sides), final_edges.shape[1] - 1)))
    chosen = (draft[:, None], np.arange(width), sides[side])
    low = np.column_stack([accept_edges[:, :, :-1][chosen], final_edges[draft, final]])
    high = np.column_stack([accept_edges[:, :, 1:][chosen], final_edges[draft, final + 1]])
    num_draft = np.full(len(draft), width)
    left, middle, right = (
        verifier(drafts[draft], q[draft], p[draft], num_draft, Prescribed(low + share * (high - low)))
        for share in (0.001, 0.5, 0.999)
    )
    # The output is constant on each cell, or the grid missed a break point and the sum means nothing.
    wide = (high - low > 1e-9).all(axis=1)
    assert (left.out == middle.out)[wide].all()
    assert (right.out == middle.out)[wide].all()
    volume = drawn.prod(axis=1)[draft] * (high - low).prod(axis=1)
    return [_mass(middle, volume, length, vocabulary) for length in range(1, width + 2)]


def _tuples(values, length):
    """All tuples of `length` values, `[values ** length, length]`."""
    return np.array(list(product(range(values), repeat=length)), dtype=int).reshape(values**length, length)


def _edges(breaks):
    """Edges 0 … 1 of the intervals between break points, `[..., n] -> [..., n + 2]`."""
    ends = np.zeros_like(breaks[..., :1])
    return np.concatenate([ends, np.sort(breaks, axis=-1), ends + 1], axis=-1)


def _cdf_breaks(p, q):
    """Break points of the inverse CDF of every law that a last token may be drawn from, `[X, n]`."""
    residual = np.maximum(0, p[:, :-1] - q)
    mass = residual.sum(axis=2, keepdims=True)
    residual = np.divide(residual, mass, out=np.zeros_like(residual), where=mass > 0)
    laws = np.concatenate([p, residual], axis=1)
    return np.minimum(1, laws.cumsum(axis=2)).reshape(len(p), -1)


def _mass(verified, volume, length, vocabulary):
    """Probabilities of the blocks of one length, `[V] * length`."""
    mine = verified.n_out == length
    shape = (vocabulary,) * length
    codes = np.ravel_multi_index(tuple(verified.out[mine, :length].T), shape)
    return np.bincount(codes, volume[mine], minlength=vocabulary**length).reshape(shape)


def word_law(verifier, world, width, length):
    """Law of the first `length` tokens after an empty prompt, each step drafting `width` tokens."""
    tokens = range(world.vocabulary_size)
    blocks = {last: block_law(verifier, world, last, width) for last in (-1, *tokens)}

    @cache
    def words(last, left):
        law = np.zeros((len(tokens),) * left)
        for n, mass in enumerate(blocks[last], start=1):
            if n >= left:
                law += mass.sum(axis=tuple(range(left, n)))
            else:
                rest = np.stack([words(token, left - n) for token in tokens])
                law += mass.reshape(mass.shape + (1,) * (left - n)) * rest
        return law

    return words(-1, length)
