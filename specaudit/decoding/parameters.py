"""What a request asks for: how its tokens are drawn, and where they end."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.automata import Grammar


@dataclass(frozen=True, kw_only=True)
class SamplingParameters:
    """What is done to the logits before a token is drawn; every default is neutral.

    Attributes:
        temperature: divides the logits; 0 means greedy decoding.
        top_k: number of tokens kept; 0 keeps all.
        top_p: mass of the nucleus kept, in (0, 1]; 1 keeps all.
        min_p: share of the likeliest token's probability that a token must have, in [0, 1]; 0 keeps all.
        repetition_penalty: divides the positive logits of tokens in prompt or output, multiplies the negative ones.
        presence_penalty: taken once from the logit of every token in the output.
        frequency_penalty: taken from a token's logit for every time that it stands in the output.
        logit_bias: (token, what is added to its logit).
        bad_words: sequences of tokens that the output must not hold.
        allowed_token_ids: the only tokens that may be drawn; None allows all.
        grammar: what the output must follow, token by token.

    Raises:
        ValueError: a parameter is outside its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    bad_words: tuple[tuple[int, ...], ...] = ()
    allowed_token_ids: tuple[int, ...] | None = None
    grammar: Grammar | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature must be finite and at least 0, got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be at least 0 (0 keeps all tokens), got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be in [0, 1], got {self.min_p}")
        if not 0 < self.repetition_penalty < np.inf:
            raise ValueError(f"repetition_penalty must be finite and above 0, got {self.repetition_penalty}")
        for name in ("presence_penalty", "frequency_penalty"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be finite, got {getattr(self, name)}")
        if not all(bias < np.inf for _, bias in self.logit_bias):
            raise ValueError(f"logit_bias must be numbers below infinity, got {self.logit_bias}")
        if not all(self.bad_words):
            raise ValueError("bad_words must be sequences of at least one token, got an empty one")
        if self.allowed_token_ids == ():
            raise ValueError("allowed_token_ids must name at least one token; None allows all")

    @property
    def penalised(self) -> bool:
        """Whether a penalty is on."""
        return (self.repetition_penalty, self.presence_penalty, self.frequency_penalty) != (1, 0, 0)

    @property
    def constrained(self) -> bool:
        """Whether single tokens are named: what the filters see is then more than the model's logits."""
        named = self.logit_bias or self.bad_words or self.allowed_token_ids or self.grammar
        return bool(named) or self.penalised


UNFILTERED = SamplingParameters()
"""Temperature 1 without filters: the model's own law."""


@dataclass(frozen=True, kw_only=True)
class StopRules:
    """What ends a completion before its cap.

    Attributes:
        token_ids: tokens that end it, besides EOS; they are emitted.
        strings: texts that end it; the token that completes one is emitted.
        ignore_eos: whether EOS is a token like any other.
        min_tokens: tokens before any stop: until then stop tokens are forbidden, and strings not looked for.

    Raises:
        ValueError: a string is empty, or `min_tokens` negative.
    """

    token_ids: tuple[int, ...] = ()
    strings: tuple[str, ...] = ()
    ignore_eos: bool = False
    min_tokens: int = 0

    def __post_init__(self) -> None:
        if not all(self.strings):
            raise ValueError("stop strings must not be empty")
        if self.min_tokens < 0:
            raise ValueError(f"min_tokens must be at least 0, got {self.min_tokens}")


TO_THE_END = StopRules()
"""Nothing but EOS ends the completion before its cap."""
