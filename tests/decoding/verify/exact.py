"""The exact law of one step of a verifier, over all drafts and all coins, and that of its target.

Laws depend on everything said so far: a list of `[V]`, `[V, V]`, `[V, V, V]`, …, the law of the next token last.
"""

from itertools import product

import numpy as np

from .cells import Prescribed, boxes


def random_laws(rng, vocabulary, length):
    """Laws of the next `length` tokens, with some tokens impossible."""
    laws = []
    for i in range(length):
        weights = rng.random((vocabulary,) * (i + 1)) * (rng.random((vocabulary,) * (i + 1)) < 0.8)
        weights[..., rng.integers(vocabulary)] += 0.1
        laws.append(weights / weights.sum(axis=-1, keepdims=True))
    return laws


def word_law(laws):
    """Law of as many tokens as there are laws, `[V, …, V]`."""
    law = np.array(1.0)
    for step in laws:
        law = law[..., None] * step
    return law


def step_law(verifier, q, p, num_draft=None, pieces=1):
    """Law of `K + 1` tokens: what one step of `K` drafts emits, and then the target's own, `[V, …, V]`.

    Args:
        verifier: called as `ChainVerifier` is.
        q: `K` laws that drafts are drawn from.
        p: `K + 1` laws of the target.
        num_draft: number of drafts, 0 to `K`; by default `K`.
        pieces: see `boxes`.
    """
    return completed(*_step(verifier, q, p, len(q) if num_draft is None else num_draft, pieces), p)


def step_lengths(verifier, q, p):
    """Expected number of tokens that one step emits."""
    out, mass = _step(verifier, q, p, len(q))
    return ((out >= 0).sum(axis=1) * mass).sum()


def _step(verifier, q, p, num_draft, pieces=1):
    """What one step may emit `[m, K + 1]`, padded with −1, and with what probability `[m]`."""
    width, vocabulary = len(q), p[0].size
    drafts = np.full((vocabulary**num_draft, width), -1)
    drafts[:, :num_draft] = list(product(range(vocabulary), repeat=num_draft))
    drawn = word_law(q[:num_draft]).ravel()
    drafts, drawn = drafts[drawn > 0], drawn[drawn > 0]
    q_rows, p_rows = (_rows(laws, drafts, vocabulary) for laws in (q, p))
    num_drafts = np.full(len(drafts), num_draft)

    def play(case, coins):
        return verifier(drafts[case], q_rows[case], p_rows[case], num_drafts[case], Prescribed(coins), check=False).out

    case, volume, out, _ = boxes(play, len(drafts), width + 1, pieces)
    return out, drawn[case] * volume


def completed(out, mass, p):
    """Law of the blocks `[m, n]`, padded with −1, of the given masses, each carried on by the target to its length."""
    law = np.zeros((p[0].size,) * len(p))
    for length in range(1, len(p) + 1):
        mine = (out >= 0).sum(axis=1) == length
        block = np.zeros((p[0].size,) * length)
        np.add.at(block, tuple(out[mine, :length].T), mass[mine])
        for step in p[length:]:
            block = block[..., None] * step
        law += block
    return law


def _rows(laws, drafts, vocabulary):
    """The laws at each position of each row of drafts `[X, n, V]`; behind the last draft, at token 0."""
    said = np.maximum(drafts, 0)
    rows = np.empty((len(drafts), len(laws), vocabulary))
    for i, law in enumerate(laws):
        rows[:, i] = law[tuple(said[:, :i].T)]
    return rows
