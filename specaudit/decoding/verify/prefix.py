"""How many drafts of one request survive, in its shortest form."""

from collections.abc import Sequence
from itertools import takewhile


def accepted_prefix(p: Sequence[float], q: Sequence[float], r: Sequence[float]) -> int:
    """Count the accepted drafts of one chain.

    Draft `i` is accepted while `r_i ≤ p_i / q_i`, written as a product so that q = 0 never divides. The
    boundary is inclusive, for coins in (0, 1]; `ChainVerifier`, whose coins may be 0, excludes it.

    Args:
        p: the target's probability of each draft, `[K]`.
        q: the drafter's probability of each draft, `[K]`.
        r: one coin per draft, `[K]`.

    Raises:
        ValueError: the lengths differ.
    """
    chain = zip(p, q, r, strict=True)
    return sum(1 for _ in takewhile(lambda draft: draft[2] * draft[1] <= draft[0], chain))
