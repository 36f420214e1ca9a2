"""The law of the next token in a context, from what an engine revealed."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specaudit.laws.orders import VLLM, FilterOrder
from specaudit.laws.processors import NOTHING, History, looks_back, moves_logits, processed
from specaudit.model.completion import TokenLogprobs
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.request import Sampling, Token

WHOLE = 1.0 - 1e-6
"""Reported probabilities that sum to this much are taken for the whole law."""

OVERFULL = 1.0 + 1e-3
"""Reported probabilities that sum to more are no law: some engines report 0.0 for every verified token."""

NextLaw = Mapping[Token, float]
"""Probability of every possible next token; impossible ones are left out."""

Context = tuple[Token, ...]

Key = Any
"""What a law depends on, in whatever form suits those who know it; it can be hashed and compared."""


class ContextLaws(Protocol):
    """Knows the processed law of the next token in some contexts.

    A context is known by a key: as much of it as the law depends on, so that contexts with one law are one.
    """

    def start(self, prompt: Context) -> Key:
        """Return the key of a prompt with nothing behind it."""
        ...

    def after(self, key: Key, token: Token) -> Key:
        """Return the key of the context that a token makes of another."""
        ...

    def next_law(self, key: Key) -> NextLaw | None:
        """Return the law in a context given by its key; None where it is not known."""
        ...


class ExactLaws:
    """The law that an engine in process revealed whole, where the filters do not look back.

    Raises:
        ValueError: the filters look back, so that the last tokens do not tell the law: see `RememberedLaws`.
    """

    def __init__(self, revealed: RevealedLaw, sampling: Sampling, order: FilterOrder = VLLM) -> None:
        if looks_back(sampling):
            raise ValueError("penalties and bad words look at more than the last tokens")
        self._order = revealed.order
        self._laws: dict[Context, NextLaw] = {
            context: _next_law(processed(raw, sampling, order=order), range(len(raw)))
            for context, raw in _table(revealed).items()
        }

    def key(self, context: Context) -> Context:
        """Return the last `order` tokens."""
        return context[-self._order :] if self._order else ()

    def start(self, prompt: Context) -> Context:
        """Return the last tokens of a prompt."""
        return self.key(prompt)

    def after(self, key: Context, token: Token) -> Context:
        """Return the last tokens behind one more."""
        return self.key((*key, token))

    def next_law(self, key: Context) -> NextLaw | None:
        """Return the law after those tokens."""
        return self._laws.get(key)


class RememberedLaws:
    """The law that an engine in process revealed whole, under filters that look back.

    A key is the prompt and the completion, the latter as far as it matters: tokens whose place no filter asks for are
    sorted, and counted once where no filter counts them.
    """

    def __init__(self, revealed: RevealedLaw, sampling: Sampling, order: FilterOrder = VLLM) -> None:
        self._table = _table(revealed)
        self._context = revealed.order
        self._sampling = sampling
        self._order = order
        self._kept = max(revealed.order, *(len(word) - 1 for word in sampling.bad_words), 0)
        self._laws: dict[History, NextLaw] = {}

    def start(self, prompt: Context) -> History:
        """Return a prompt with nothing behind it."""
        return History(prompt=prompt)

    def after(self, key: History, token: Token) -> History:
        """Return what matters of a completion with one more token."""
        completion = (*key.completion, token)
        if self._order.window is not None:
            return History(key.prompt, completion)
        split = max(0, len(completion) - self._kept)
        early: Iterable[Token] = completion[:split]
        if not self._sampling.frequency_penalty:
            early = set(early)
        return History(key.prompt, (*sorted(early, key=str), *completion[split:]))

    def next_law(self, key: History) -> NextLaw | None:
        """Return the law behind a prompt and a completion."""
        if key not in self._laws:
            context = (*key.prompt, *key.completion)
            raw = self._table.get(context[len(context) - self._context :] if self._context else ())
            if raw is None:
                return None
            law = processed(raw, self._sampling, order=self._order, history=key)
            self._laws[key] = _next_law(law, range(len(raw)))
        return self._laws[key]


@lru_cache(maxsize=4)
def exact_laws(revealed: RevealedLaw, sampling: Sampling, order: FilterOrder = VLLM) -> ContextLaws:
    """Return the processed laws of an engine that revealed its raw one; kept, since a check asks again at every stage.

    Raises:
        UsageError: a bad word is given as text, and the engine's tokens are ids; or there is a grammar.
    """
    if sampling.grammar is not None:
        raise UsageError(
            "The exact law under a grammar is not computed.",
            hint="specaudit run --suite parameters --select LAW5, which holds grammars against plain decoding",
        )
    if _spelt(sampling):
        raise UsageError(
            "Bad words are given as text, and an engine in process knows its tokens by their ids.",
            hint="Write bad_words as lists of token ids, e.g. bad_words = [[3, 2]]",
        )
    return (RememberedLaws if looks_back(sampling) else ExactLaws)(revealed, sampling, order)


class ScoredLaws:
    """Laws from the logprobs that a plain arm reported, one context at a time, keyed by the whole context."""

    def __init__(self, laws: Mapping[Context, NextLaw]) -> None:
        self._laws = dict(laws)

    def start(self, prompt: Context) -> Context:
        """Return the whole prompt: a server's law may depend on all of it."""
        return prompt

    def after(self, key: Context, token: Token) -> Context:
        """Return the whole context with one more token."""
        return (*key, token)

    def next_law(self, key: Context) -> NextLaw | None:
        """Return the law in that context, where it was asked for."""
        return self._laws.get(key)


def scored_law(
    position: TokenLogprobs, sampling: Sampling, mode: str, order: FilterOrder = VLLM, history: History | None = None
) -> NextLaw | None:
    """Return the processed law at a position from its reported most likely tokens, or None if they do not tell it.

    Raw logprobs tell it when they reach as far as top_k does and no filter favours single tokens, or when they hold
    the whole vocabulary; but never under a repetition penalty, which depends on the sign of logits. Processed ones
    tell it when they sum to 1. Where filters look back, the history must be given, and processed logprobs must have
    been reported with it.
    """
    tokens = [token for token, _ in position.top]
    if sampling.grammar is not None:
        return None
    if not tokens or (looks_back(sampling) and history is None) or (_spelt(sampling) and isinstance(tokens[0], int)):
        return None
    logprobs = np.array([logprob for _, logprob in position.top])
    mass = float(np.exp(logprobs).sum())
    law: NDArray[np.float64] | None = None
    if mass <= OVERFULL:
        if mode == "processed":
            law = np.exp(logprobs) / mass if mass >= WHOLE else None
        elif mode == "raw" and _tells(mass, len(tokens), sampling, order):
            law = processed(logprobs, sampling, order=order, history=history or NOTHING, tokens=tokens)
    return None if law is None else _next_law(law, tokens)


def _spelt(sampling: Sampling) -> bool:
    return any(isinstance(token, str) for word in sampling.bad_words for token in word)


def _tells(mass: float, reported: int, sampling: Sampling, order: FilterOrder) -> bool:
    """Say whether raw logprobs of so many most likely tokens tell the processed law."""
    if sampling.repetition_penalty != 1:
        return False
    reaches = 0 < sampling.top_k <= reported and order.top_k_is_first_cut and not moves_logits(sampling)
    return mass >= WHOLE or reaches


def _table(revealed: RevealedLaw) -> dict[Context, NDArray[np.float64]]:
    """The raw law by context."""
    rows = ([-np.inf if value is None else value for value in row] for row in revealed.logprobs)
    return dict(zip(revealed.contexts, map(np.array, rows), strict=True))


def _next_law(law: NDArray[np.float64], tokens: Sequence[Token]) -> NextLaw:
    told: dict[Token, float] = {}
    for token, p in zip(tokens, law.tolist(), strict=True):
        if p > 0:
            told[token] = told.get(token, 0.0) + p  # tokens that are told by their text may share it
    return told
