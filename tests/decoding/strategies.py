"""Hypothesis strategies for laws, and for the inputs of a verifier."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.worlds import SmallModel, World

# The same examples every time, however slow the machine.
steady = settings(deadline=None, derandomize=True)


@st.composite
def laws(draw, vocabulary):
    """A law over `vocabulary` tokens, often with zeros, and often equal to another one in places."""
    weights = draw(st.lists(st.integers(0, 5), min_size=vocabulary, max_size=vocabulary).filter(any))
    return np.array(weights) / sum(weights)


@st.composite
def chains(draw, vocabulary):
    rows = [draw(laws(vocabulary)) for _ in range(vocabulary + 1)]
    return MarkovModel(rows[0], rows[1:])


@st.composite
def worlds(draw, max_vocabulary=4, eos=None):
    vocabulary = draw(st.integers(1, max_vocabulary))
    target, drafter = draw(chains(vocabulary)), draw(chains(vocabulary))
    return World(name="random", target=target, drafter=SmallModel(model=drafter), eos=eos)


@st.composite
def verifications(draw):
    """Arguments `draft, q, p, num_draft` of a verifier."""
    batch, width, vocabulary = draw(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 5)))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    q = _sparse(rng, (batch, width, vocabulary))
    p = _sparse(rng, (batch, width + 1, vocabulary))
    draft = (rng.random((batch, width, 1)) < q.cumsum(axis=2)).argmax(axis=2)
    return draft, q, p, rng.integers(0, width + 1, batch)


def _sparse(rng, shape):
    """Random laws in which about a third of the tokens are impossible."""
    weights = rng.random(shape) * (rng.random(shape) < 0.7)
    weights[..., 0] += 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)
