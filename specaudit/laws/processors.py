"""What the sampling filters make of a law, in the order in which the engine applies them.

A second implementation on purpose: the decoder has its own, and a fault that both shared would hide itself. This
one works on one law at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specaudit.laws.orders import VLLM, FilterOrder, Step
from specaudit.model.request import Sampling, Token

Array = NDArray[np.float64]

EDGE = 1e-9
"""A nucleus is full when it is short of its mass by less: sums differ in their last bits with the order of adding."""


class History(NamedTuple):
    """What stands before a token."""

    prompt: tuple[Token, ...] = ()
    completion: tuple[Token, ...] = ()


NOTHING = History()


def processed(
    logprobs: Array,
    sampling: Sampling,
    *,
    order: FilterOrder = VLLM,
    history: History = NOTHING,
    tokens: Sequence[Token] | None = None,
) -> Array:
    """Return the law that the next token is drawn from.

    Args:
        logprobs: [V] natural logarithms of the raw law; minus infinity is allowed. A constant may be added to all,
            unless there is a repetition penalty: that one needs the model's own logits, since it asks for their sign.
        sampling: The filters.
        order: In which order they are applied, and what the penalties look at.
        history: The tokens that penalties and bad words look at.
        tokens: [V] which token each entry stands for; its index unless given.

    Returns:
        [V] probabilities that sum to 1. Ties are broken by the lower index, as stable sorting does.

    Raises:
        ValueError: the engine's order has no place for a filter that is asked for, no token is left, or there is a
            grammar: it looks at texts, which are not known here.
    """
    if sampling.grammar is not None:
        raise ValueError("the law under a grammar is not computed here")
    if homeless := [step for step in asked_for(sampling) if step not in order.places]:
        raise ValueError(f"the order of filters of {order.engine} has no place for {', '.join(homeless)}")
    past = _Past(size=len(logprobs), order=order, history=history, tokens=tokens)
    scores = np.asarray(logprobs, dtype=np.float64)
    for step in order.steps:
        scores = _FILTERS[step](scores, sampling, past)
        if not np.isfinite(scores.max()):
            raise ValueError("the filters leave no token")
    if sampling.temperature == 0:
        law = np.zeros_like(scores)
        law[np.argmax(scores)] = 1.0
        return law
    return _softmax(scores)


def asked_for(sampling: Sampling) -> tuple[Step, ...]:
    """Return the filters that a request turns on, but for the temperature."""
    on: dict[Step, bool] = {
        "allowed": sampling.allowed_token_ids is not None,
        "bad words": bool(sampling.bad_words),
        "bias": bool(sampling.logit_bias),
        "repetition": sampling.repetition_penalty != 1,
        "presence": sampling.presence_penalty != 0,
        "frequency": sampling.frequency_penalty != 0,
        "min-p": sampling.min_p > 0,
        "top-k": sampling.top_k > 0,
        "top-p": sampling.top_p < 1,
    }
    return tuple(step for step, is_on in on.items() if is_on)


def moves_logits(sampling: Sampling) -> bool:
    """Say whether other filters than temperature, top-k, top-p and min-p are on: those that favour single tokens."""
    return not set(asked_for(sampling)) <= {"min-p", "top-k", "top-p"}


def looks_back(sampling: Sampling) -> bool:
    """Say whether the filters look at the tokens before, so that the law depends on more than the model's context."""
    if sampling.grammar is not None:
        return True
    penalties: set[Step] = {"repetition", "presence", "frequency"}
    return not penalties.isdisjoint(asked_for(sampling)) or any(len(word) > 1 for word in sampling.bad_words)


@dataclass(frozen=True, kw_only=True)
class _Past:
    """Which tokens stand before, by their index in the law."""

    size: int
    order: FilterOrder
    history: History
    tokens: Sequence[Token] | None

    @cached_property
    def _index(self) -> dict[Token, int]:
        return {token: index for index, token in enumerate(self.tokens or range(self.size))}

    def indices(self, tokens: Sequence[Token]) -> NDArray[np.int64]:
        """Return where tokens stand in the law; those that it does not list are left out."""
        return np.array([self._index[token] for token in tokens if token in self._index], dtype=np.int64)

    def before(self, step: Step) -> tuple[Token, ...]:
        """Return the tokens that a step looks at."""
        prompt, completion = self.history
        return (*prompt, *completion) if step in self.order.sees_prompt else completion

    def counts(self, step: Step) -> NDArray[np.int64]:
        """Return how often each token stands in what a penalty looks at, [V]."""
        before = self.before(step)
        kept = before if self.order.window is None else before[-self.order.window :]
        return np.bincount(self.indices(kept), minlength=self.size)


def _allowed(scores: Array, sampling: Sampling, past: _Past) -> Array:
    if sampling.allowed_token_ids is None:
        return scores
    allowed = np.full_like(scores, -np.inf)
    kept = past.indices(sampling.allowed_token_ids)
    allowed[kept] = scores[kept]
    return allowed


def _bad_words(scores: Array, sampling: Sampling, past: _Past) -> Array:
    before = past.before("bad words")
    ends = [word[-1] for word in sampling.bad_words if word and before[len(before) - len(word) + 1 :] == word[:-1]]
    return _moved(scores, past.indices(ends), -np.inf)


def _bias(scores: Array, sampling: Sampling, past: _Past) -> Array:
    for token, bias in sampling.logit_bias:
        scores = _moved(scores, past.indices([token]), bias)
    return scores


def _moved(scores: Array, indices: NDArray[np.int64], by: float) -> Array:
    moved = scores.copy()
    moved[indices] += by
    return moved


def _repetition(scores: Array, sampling: Sampling, past: _Past) -> Array:
    penalty = sampling.repetition_penalty
    if penalty == 1:
        return scores
    scaled = np.where(scores > 0, scores / penalty, scores * penalty)
    return np.where(past.counts("repetition") > 0, scaled, scores)


def _presence(scores: Array, sampling: Sampling, past: _Past) -> Array:
    if not sampling.presence_penalty:
        return scores
    return scores - sampling.presence_penalty * (past.counts("presence") > 0)


def _frequency(scores: Array, sampling: Sampling, past: _Past) -> Array:
    if not sampling.frequency_penalty:
        return scores
    return scores - sampling.frequency_penalty * past.counts("frequency")


def _temperature(scores: Array, sampling: Sampling, past: _Past) -> Array:
    """Scale. At temperature 0 the argmax is taken in the end, which no filter that follows takes away."""
    if sampling.temperature == 0:
        return scores
    with np.errstate(over="ignore"):
        return np.asarray((scores - scores.max()) / sampling.temperature)


def _min_p(scores: Array, sampling: Sampling, past: _Past) -> Array:
    if not sampling.min_p:
        return scores
    return np.where(scores >= scores.max() + np.log(sampling.min_p) - EDGE, scores, -np.inf)


def _top_k(scores: Array, sampling: Sampling, past: _Past) -> Array:
    if not sampling.top_k:
        return scores
    return _without(scores, np.argsort(-scores, kind="stable")[sampling.top_k :])


def _top_p(scores: Array, sampling: Sampling, past: _Past) -> Array:
    return _without(scores, _outside_nucleus(scores, sampling))


def _jointly(scores: Array, sampling: Sampling, past: _Past) -> Array:
    """Cut one law in both ways; SGLang's kernels do it one after the other where min-p follows."""
    if sampling.min_p:
        return _top_p(_top_k(scores, sampling, past), sampling, past)
    return _top_k(_without(scores, _outside_nucleus(scores, sampling)), sampling, past)


def _outside_nucleus(scores: Array, sampling: Sampling) -> NDArray[np.int64]:
    if sampling.top_p == 1:
        return np.empty(0, dtype=np.int64)
    ranking = np.argsort(-scores, kind="stable")
    ranked = _softmax(scores)[ranking]
    mass_before = np.cumsum(ranked) - ranked
    outside = mass_before >= sampling.top_p - EDGE
    outside[0] = False
    return np.asarray(ranking[outside])


def _without(scores: Array, indices: NDArray[np.int64]) -> Array:
    kept = scores.copy()
    kept[indices] = -np.inf
    return kept


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


_FILTERS: dict[Step, Callable[[Array, Sampling, _Past], Array]] = {
    "allowed": _allowed,
    "bad words": _bad_words,
    "bias": _bias,
    "repetition": _repetition,
    "presence": _presence,
    "frequency": _frequency,
    "temperature": _temperature,
    "min-p": _min_p,
    "top-k": _top_k,
    "top-p": _top_p,
    "top-k and top-p": _jointly,
}
