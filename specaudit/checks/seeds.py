"""Seeds that never meet: arms, checks, parts of a check and choices each have their own.

Real engines draw choice i of a request with seed + i, and servers' equal default seeds would couple two arms:
every seed is set, seeds of one stage are spaced by the number of choices, and arms live in different halves of the
31 bits that every engine takes.
"""

import hashlib

from specaudit.model.plan import Plan, Role, engine_of

SEEDS = 1 << 18
"""Seeds of one arm in one part of a check."""

PARTS = 4
"""Parts of one check that never share a seed."""

_SEEDED: tuple[Role, ...] = ("subject", "reference")
"""Arms with seeds of their own. Other plain arms are asked in the place of the reference: see `checks.part`."""

_ARM = (1 << 31) // len(_SEEDED)


def fits(checks: int) -> bool:
    """Say whether there are seeds for so many checks."""
    return checks * PARTS * SEEDS < _ARM


def first_seed(plan: Plan, check_id: str, role: Role, part: int = 0) -> int:
    """Return the first of 2^18 seeds for one arm in one part of a check; all seeds are below 2^31.

    A role without an engine of its own has the seeds of the engine that it asks, so that it needs another part.
    Ranges of one plan lie side by side; where they begin depends on the plan's seed.
    """
    place = plan.checks.index(check_id) * PARTS + part
    room = _ARM - len(plan.checks) * PARTS * SEEDS
    hashed = int.from_bytes(hashlib.sha256(str(plan.seed).encode()).digest()[:8], "big")
    return _SEEDED.index(engine_of(role)) * _ARM + hashed % room + place * SEEDS
