"""The law of the next token in a context, from what an engine revealed."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from specaudit.laws.processors import processed
from specaudit.model.completion import TokenLogprobs
from specaudit.model.law import RevealedLaw
from specaudit.model.request import Sampling, Token

WHOLE = 1.0 - 1e-6
"""Reported probabilities that sum to this much are taken for the whole law."""

OVERFULL = 1.0 + 1e-3
"""Reported probabilities that sum to more are no law: some engines report 0.0 for every verified token."""

NextLaw = Mapping[Token, float]
"""Probability of every possible next token; impossible ones are left out."""

Context = tuple[Token, ...]


class ContextLaws(Protocol):
    """Knows the processed law of the next token in some contexts."""

    def key(self, context: Context) -> Context:
        """Return the part of a context (prompt and emitted tokens) that the law depends on."""
        ...

    def next_law(self, key: Context) -> NextLaw | None:
        """Return the law in a context given by its key; None where it is not known."""
        ...


class ExactLaws:
    """The law that an engine in process revealed whole."""

    def __init__(self, revealed: RevealedLaw, sampling: Sampling) -> None:
        self._order = revealed.order
        self._laws: dict[Context, NextLaw] = {}
        for context, logprobs in zip(revealed.contexts, revealed.logprobs, strict=True):
            raw = np.array([-np.inf if value is None else value for value in logprobs])
            law = processed(raw, sampling)
            self._laws[context] = {int(token): float(law[token]) for token in np.flatnonzero(law)}

    def key(self, context: Context) -> Context:
        """Return the last `order` tokens."""
        return context[-self._order :] if self._order else ()

    def next_law(self, key: Context) -> NextLaw | None:
        """Return the law after those tokens."""
        return self._laws.get(key)


class ScoredLaws:
    """Laws from the logprobs that a plain arm reported, one context at a time, keyed by the whole context."""

    def __init__(self, laws: Mapping[Context, NextLaw]) -> None:
        self._laws = dict(laws)

    def key(self, context: Context) -> Context:
        """Return the whole context: a server's law may depend on all of it."""
        return context

    def next_law(self, key: Context) -> NextLaw | None:
        """Return the law in that context, where it was asked for."""
        return self._laws.get(key)


def scored_law(position: TokenLogprobs, sampling: Sampling, mode: str) -> NextLaw | None:
    """Return the processed law at a position from its reported most likely tokens, or None if they do not tell it.

    Raw logprobs tell it when they reach as far as top_k does, or hold the whole vocabulary; processed ones when
    they sum to 1.
    """
    if not position.top:
        return None
    tokens = [token for token, _ in position.top]
    logprobs = np.array([logprob for _, logprob in position.top])
    mass = float(np.exp(logprobs).sum())
    if mass > OVERFULL:
        law = None
    elif mode == "processed":
        law = np.exp(logprobs) / mass if mass >= WHOLE else None
    elif mode == "raw":
        reaches = mass >= WHOLE or 0 < sampling.top_k <= len(tokens)
        law = processed(logprobs, sampling) if reaches else None
    else:
        law = None
    if law is None:
        return None
    told: dict[Token, float] = {}
    for token, p in zip(tokens, law.tolist(), strict=True):
        if p > 0:
            told[token] = told.get(token, 0.0) + p  # tokens that are told by their text may share it
    return told
