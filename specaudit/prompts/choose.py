"""Which prompts a stage asks: token ids of a tiny vocabulary, or texts of the sets that a suite names."""

from collections.abc import Sequence

import numpy as np

from specaudit.model.capabilities import Capabilities
from specaudit.model.request import Prompt
from specaudit.prompts.sets import MIXED, TOKENS, load

TINY_VOCABULARY = 64
"""Random token ids are fair prompts for a toy model of so many tokens, and noise for a real one."""

_TOKENS = (4, 12)
"""Shortest and longest random prompt."""


def choose_prompts(count: int, arms: list[Capabilities], seed: int, sets: Sequence[str] = ()) -> tuple[Prompt, ...]:
    """Return `count` different prompts that every arm takes, the same for the same seed.

    Token ids are chosen when all arms take them and share one tiny vocabulary, or the set of token ids is named and
    all arms share a vocabulary of known size; otherwise texts, each used once before any is used again behind a number.

    Args:
        count: How many.
        arms: Who is asked.
        seed: Of the choice.
        sets: Names of the sets that are chosen from, all together; the mixed one unless given.
    """
    sizes = {arm.vocabulary_size for arm in arms}
    size = sizes.pop() if len(sizes) == 1 else None
    rng = np.random.default_rng(seed)
    most = TINY_VOCABULARY if TOKENS not in sets else None
    if size is not None and 2 <= size <= (most or size) and all(arm.token_prompts for arm in arms):
        found: dict[Prompt, None] = {}
        while len(found) < count:
            length = int(rng.integers(_TOKENS[0], _TOKENS[1] + 1))
            found[tuple(int(token) for token in rng.integers(0, size, length))] = None
        return tuple(found)
    texts = [text for name in dict.fromkeys(sets) if name != TOKENS for text in load(name).prompts]
    texts = list(dict.fromkeys(texts or load(MIXED).prompts))
    order = rng.permutation(len(texts))
    return tuple(_numbered(texts[order[i % len(texts)]], i // len(texts)) for i in range(count))


def _numbered(text: str, round_: int) -> str:
    return text if round_ == 0 else f"{round_ + 1}. {text}"
