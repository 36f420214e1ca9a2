"""Which prompts a stage asks: token ids of a tiny vocabulary, or built-in text."""

import numpy as np

from specaudit.model.capabilities import Capabilities
from specaudit.model.request import Prompt
from specaudit.prompts.texts import TEXTS

TINY_VOCABULARY = 64
"""Random token ids are fair prompts for a toy model of so many tokens, and noise for a real one."""

_TOKENS = (4, 12)
"""Shortest and longest random prompt."""


def choose_prompts(count: int, arms: list[Capabilities], seed: int) -> tuple[Prompt, ...]:
    """Return `count` different prompts that every arm takes, the same for the same seed.

    Token ids are chosen when all arms take them and share one tiny vocabulary; otherwise the built-in texts, each
    used once before any is used again behind a number.
    """
    sizes = {arm.vocabulary_size for arm in arms}
    size = sizes.pop() if len(sizes) == 1 else None
    rng = np.random.default_rng(seed)
    if size is not None and 2 <= size <= TINY_VOCABULARY and all(arm.token_prompts for arm in arms):
        found: dict[Prompt, None] = {}
        while len(found) < count:
            length = int(rng.integers(_TOKENS[0], _TOKENS[1] + 1))
            found[tuple(int(token) for token in rng.integers(0, size, length))] = None
        return tuple(found)
    order = rng.permutation(len(TEXTS))
    return tuple(_numbered(TEXTS[order[i % len(TEXTS)]], i // len(TEXTS)) for i in range(count))


def _numbered(text: str, round_: int) -> str:
    return text if round_ == 0 else f"{round_ + 1}. {text}"
