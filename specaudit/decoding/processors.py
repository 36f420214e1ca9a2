"""From logits to the laws that tokens are drawn from, for a batch whose rows want different things.

The filters are those of vLLM (`vllm/v1/sample/sampler.py`), in its order unless another engine's is asked for; each
renormalises what the one before it left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specaudit.decoding.arrays import BoolArray, FloatArray
from specaudit.decoding.filters import divide, keep_min_p, keep_top_k, keep_top_p, one_hot_argmax, softmax
from specaudit.decoding.history import History
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters
from specaudit.decoding.rules import Rules, RuleTable

__all__ = ["ORDERS", "UNFILTERED", "Processors", "SamplingParameters", "one_hot_argmax", "process", "softmax"]

ORDERS = {
    "vllm": ("temperature", "min_p", "top_k", "top_p"),
    "transformers": ("temperature", "top_k", "top_p", "min_p"),
    "llama.cpp": ("top_k", "top_p", "min_p", "temperature"),
}
"""The filters in each engine's order: vLLM's sampler, the logits warpers of transformers (`generation/utils.py`), the
default sampler chain of llama.cpp (`common/common.h`)."""


class Processors:
    """Turns logits into laws, each behind the drafts that stand in front of it.

    What names single tokens comes first, as in vLLM: grammar, allowed tokens, bad words, min_tokens, logit bias,
    penalties. Then the filters. Each is a method, so that a fault is a subclass that overrides one.

    Args:
        order: the filters in the order in which they are applied; see `ORDERS`.
    """

    def __init__(self, order: tuple[str, ...] = ORDERS["vllm"]) -> None:
        self.order = order

    def __call__(self, logits: FloatArray, rules: Rules, history: History) -> FloatArray:
        """Process the logits of a batch.

        Args:
            logits: `[b, T, V]`; −inf forbids a token.
            rules: what each row asks for.
            history: what stands before each law.

        Returns:
            Laws `[b, T, V]`; at temperature 0 the one-hot law of the argmax. Where a row's rules forbid every
            token its law is all 0: behind a draft that is certain to be rejected such a law does no harm.

        Raises:
            ValueError: a row of the logits holds NaN or +inf, or forbids every token by itself.
        """
        scores = np.asarray(logits, dtype=np.float64)
        peak = _checked_peak(scores)
        if rules.constrained:
            scores = self.constrain(scores.copy(), rules, history)
        greedy = rules.greedy
        if greedy.all():
            return self.greedy(scores)
        filtered = scores
        for name in self.order:
            filtered = getattr(self, name)(filtered, rules)
        laws = softmax(filtered, peak=None if rules.constrained or filtered is not scores else peak)
        if greedy.any():
            laws[greedy] = self.greedy(scores[greedy])
        return laws

    def constrain(self, scores: FloatArray, rules: Rules, history: History) -> FloatArray:
        """Apply what names single tokens to scores `[b, T, V]`, in place."""
        self.grammar(scores, rules, history)
        self.allowed(scores, rules)
        self.bad_words(scores, rules, history)
        self.min_tokens(scores, rules, history)
        self.logit_bias(scores, rules)
        self.penalties(scores, rules, history)
        return scores

    def grammar(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Forbid what the grammar does not accept behind output and drafts; anything goes behind a draft it refuses."""
        if rules.grammars is not None:
            states = history.states(rules.grammars)
            scores[rules.grammars.next[states] < 0] = -np.inf

    def allowed(self, scores: FloatArray, rules: Rules) -> None:
        """Forbid all but the allowed tokens."""
        if rules.forbidden is not None:
            np.copyto(scores, -np.inf, where=rules.forbidden[:, None])

    def bad_words(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Forbid a token that would complete a bad word which output and drafts have begun.

        Source: `vllm/v1/sample/ops/bad_words.py`.
        """
        for number, word in rules.bad_words:
            rows = np.flatnonzero(rules.number == number)
            begun = history.rows(rows).ends_with(word[:-1])
            scores[rows, :, word[-1]] += np.where(begun, -np.inf, 0)

    def min_tokens(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Forbid stop tokens until output and drafts have `min_tokens` tokens."""
        if rules.min_tokens.any():
            early = history.output_lengths < rules.min_tokens[:, None]
            np.copyto(scores, -np.inf, where=early[..., None] & rules.stops[:, None])

    def logit_bias(self, scores: FloatArray, rules: Rules) -> None:
        """Add the bias."""
        if rules.bias is not None:
            scores += rules.bias[:, None]

    def penalties(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Penalise what was said already: by repetition in prompt, output and drafts, else in output and drafts.

        Source: `apply_penalties` in `vllm/model_executor/layers/utils.py`.
        """
        rows = np.flatnonzero(rules.penalised)
        if not rows.size:
            return
        mine, behind, penalty = scores[rows], history.rows(rows), rules.take(rows)
        counts = behind.output_counts(mine.shape[2])
        repeated = (counts > 0) | behind.in_prompt(mine.shape[2])[:, None]
        repetition = np.where(repeated, penalty.repetition[:, None, None], 1)
        mine = np.where(mine > 0, mine / repetition, mine * repetition)
        mine -= penalty.frequency[:, None, None] * counts
        scores[rows] = mine - penalty.presence[:, None, None] * (counts > 0)

    def greedy(self, scores: FloatArray) -> FloatArray:
        """Put all mass on the argmax, which the filters would keep; none where every token is forbidden."""
        return np.asarray(one_hot_argmax(scores) * (scores.max(axis=-1, keepdims=True) > -np.inf))

    def temperature(self, scores: FloatArray, rules: Rules) -> FloatArray:
        """Divide by the temperature."""
        on = (rules.temperature != 1) & ~rules.greedy
        return _where(on, divide, scores, rules.temperature)

    def min_p(self, scores: FloatArray, rules: Rules) -> FloatArray:
        """Keep tokens at least `min_p` times as likely as the likeliest."""
        return _where(rules.min_p > 0, keep_min_p, scores, rules.min_p)

    def top_k(self, scores: FloatArray, rules: Rules) -> FloatArray:
        """Keep the `top_k` likeliest tokens."""
        on = (rules.top_k > 0) & (rules.top_k < scores.shape[-1])
        return _where(on, keep_top_k, scores, rules.top_k)

    def top_p(self, scores: FloatArray, rules: Rules) -> FloatArray:
        """Keep the nucleus of mass `top_p`."""
        return _where(rules.top_p < 1, keep_top_p, scores, rules.top_p)


def process(
    logits: ArrayLike, parameters: SamplingParameters, *, order: tuple[str, ...] = ORDERS["vllm"]
) -> FloatArray:
    """Turn logits `[..., V]` into the laws `[..., V]` that a completion's first token is drawn from.

    Raises:
        ValueError: a row holds NaN or +inf, or no token is left of it.
    """
    scores = np.asarray(logits, dtype=np.float64)
    _checked_peak(scores)
    vocabulary = scores.shape[-1]
    rows = scores.reshape(-1, 1, vocabulary)
    table = RuleTable(vocabulary)
    rules = table.rules(np.full(len(rows), table.number(parameters, TO_THE_END)))
    laws = Processors(order)(rows, rules, History.nothing(rules.grammar))
    if not laws.any(axis=-1).all():
        raise ValueError(f"{parameters} leave no token of a row")
    return laws.reshape(scores.shape)


def _checked_peak(scores: FloatArray) -> FloatArray:
    """Return the largest logit of each row `[..., V] -> [..., 1]`; refuse rows without one."""
    peaks = scores.max(axis=-1, keepdims=True)
    if not (finite := np.isfinite(peaks)).all():
        row = tuple(int(i) for i in np.argwhere(~finite)[0][:-1])
        raise ValueError(f"logits{list(row)} have no finite maximum: {scores[row].tolist()}")
    return np.asarray(peaks)


def _where(on: BoolArray, keep: Callable[..., FloatArray], scores: FloatArray, column: NDArray[Any]) -> FloatArray:
    """Apply a filter, with its column of parameters `[b]`, to the rows of scores `[b, T, V]` where it is on."""
    if not on.any():
        return scores
    if on.all():
        return keep(scores, column[:, None, None])
    filtered = scores.copy()
    filtered[on] = keep(scores[on], column[on, None, None])
    return filtered
