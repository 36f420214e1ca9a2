"""A small world with all laws known, and audits drawn in it."""

import numpy as np

from specaudit.stats.evalues.contexts import Completions, ContextTable

CONTEXTS, CELLS = 12, 6


def table(seed=0, contexts=CONTEXTS, cells=CELLS, *, raw=False, **options):
    """Random laws of target and drafter, acceptance about .8."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(contexts, cells))
    laws = {"p": logits, "q": logits + 0.7 * rng.normal(size=logits.shape)}
    if raw:
        laws["raw"] = logits * 0.8
    return ContextTable(**{name: softmax(value) for name, value in laws.items()}, **options)


def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def draw(laws, rng, completions, length, *, groups=None, lost=None):
    """Completions in random contexts, each token from its row of `laws [C, V]`."""
    context = rng.integers(0, len(laws), size=completions * length)
    cell = (laws.cumsum(axis=1)[context, :-1] < rng.random(len(context))[:, None]).sum(axis=1)
    return Completions(
        context=context,
        cell=cell,
        uniform=rng.random(len(context)),
        lengths=np.full(completions, length),
        lost=np.zeros(completions, dtype=int) if lost is None else np.asarray(lost),
        groups=np.ones(completions, dtype=int) if groups is None else np.asarray(groups),
    )
