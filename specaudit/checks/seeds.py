"""Seeds that never meet: arms, stages and choices each have their own.

Real engines draw choice i of a request with seed + i, and servers' equal default seeds would couple two arms:
every seed is set, seeds of one stage are spaced by the number of choices, and arms live in different halves.
"""

import hashlib

from specaudit.model.plan import Plan, Role

SEEDS = 1 << 20
"""Seeds of one arm in one part of a check."""

PARTS = 8
"""Parts of one check that never share a seed."""

_BLOCKS = 1 << 10


def first_seed(plan: Plan, check_id: str, role: Role, part: int = 0) -> int:
    """Return the first of 2^20 seeds for one arm in one part of a check; all seeds are below 2^31."""
    hashed = hashlib.sha256(f"{plan.seed} {check_id}".encode()).digest()
    block = int.from_bytes(hashed[:8], "big") % (_BLOCKS // PARTS) * PARTS + part
    return SEEDS * (block + (_BLOCKS if role == "reference" else 0))
