"""Whether an engine emits the plain target's own draws, so that one seed makes one answer with and without drafts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specaudit.checks.answers import Place, compare_places, content
from specaudit.model.evidence import Evidence
from specaudit.stats.intervals import excess_p, proportion_lower

MOST = 0.5
"""Share of answers that agree, above which agreement is the rule."""


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """What a pilot showed."""

    verdict: Literal["coupled", "not shown", "unknown"]
    told: str
    """A sentence, unless it is coupled."""
    pairs: int
    equal: int


def coupling(evidence: Evidence, places: Sequence[tuple[Place, Place, Place]], alpha: float) -> Coupling:
    """Judge a pilot.

    Agreement by itself shows nothing: a law that hardly branches agrees with any seed, and a first token comes from
    prefill, where equal seeds make equal draws in any engine. So tokens behind the first are counted, each in a context
    that the two answers share.

    Args:
        evidence: Everything.
        places: Of each prompt, where the subject was asked, the plain arm with the same seed, and with another one.
        alpha: Error level, of either of the two conditions.
    """
    same = compare_places(evidence, ((subject, plain) for subject, plain, _ in places))
    equal = same.pairs - same.different
    if not same.pairs:
        return Coupling(verdict="unknown", told="No request of the pilot was answered by both arms.", pairs=0, equal=0)
    ours = _steps(evidence, [(subject, plain) for subject, plain, _ in places])
    theirs = _steps(evidence, [(other, plain) for _, plain, other in places])
    branches = bool(ours.tokens and theirs.tokens) and (
        excess_p(theirs.parted, theirs.tokens, ours.parted, ours.tokens) <= alpha
    )
    agrees = f"with the same seed {equal} of {same.pairs} short answers are those of plain decoding"
    if proportion_lower(equal, same.pairs, alpha) <= MOST:
        told = (
            "The engine is not seen to emit the plain target's own draws, as none does that samples by rejection: "
            f"{agrees}. Equality is not to be expected of it."
        )
        return Coupling(verdict="not shown", told=told, pairs=same.pairs, equal=equal)
    if not branches:
        told = f"Coupling cannot be told from answers that hardly depend on the seed: {agrees}, and so are many others."
        return Coupling(verdict="not shown", told=told, pairs=same.pairs, equal=equal)
    return Coupling(verdict="coupled", told="", pairs=same.pairs, equal=equal)


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """Tokens behind the first, in contexts that two answers share."""

    tokens: int
    parted: int
    """Of them, those in which the answers differ."""


def _steps(evidence: Evidence, pairs: Sequence[tuple[Place, Place]]) -> _Steps:
    tokens = parted = 0
    for one, other in pairs:
        rows = [content(evidence.response(*place)) for place in (one, other)]
        if not all(rows) or rows[0][0] != rows[1][0]:
            continue
        at = next((i for i, (a, b) in enumerate(zip(*rows, strict=False)) if a != b), None)
        tokens += at if at is not None else min(map(len, rows)) - 1
        parted += at is not None
    return _Steps(tokens=tokens, parted=parted)
