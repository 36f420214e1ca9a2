"""What a target says without speculation, and how far off a decoder's words are."""

import numpy as np
from scipy.stats import chi2

from specaudit.decoding.models.interface import BOS
from specaudit.decoding.processors import softmax


def word_law(model, prompt, length):
    """Exact law of the next `length` tokens after a prompt, `[V ** length]`, each word read in one pass."""
    vocabulary = model.vocabulary_size
    words = np.indices((vocabulary,) * length).reshape(length, -1).T
    tokens = np.column_stack([np.broadcast_to([BOS, *prompt], (len(words), 1 + len(prompt))), words])
    slots, count = np.arange(len(words)), np.full(len(words), tokens.shape[1])
    laws = softmax(model.forward(tokens, count, model.cache(len(words)), slots).logits[:, -length - 1 : -1])
    return np.take_along_axis(laws, words[..., None], axis=2).prod(axis=(1, 2))


def spoken(decoder, prompt, length, requests):
    """Count a decoder's words behind a prompt, `[V ** length]`."""
    prompts = np.broadcast_to(np.array(prompt, dtype=np.int64), (requests, len(prompt)))
    out = decoder.generate(prompts, np.arange(requests), max_tokens=length).tokens
    vocabulary = decoder.world.vocabulary_size
    return np.bincount(out @ vocabulary ** np.arange(length - 1, -1, -1), minlength=vocabulary**length)


def fit(counts, law):
    """p-value of the chi-square test that the words have this law; cells that expect fewer than 5 are one."""
    expected = counts.sum() * law
    if (rare := expected < 5).any():
        counts, expected = (np.append(cells[~rare], cells[rare].sum()) for cells in (counts, expected))
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1)
