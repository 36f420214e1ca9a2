"""Which parameters the violating cells share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

_MOST = 3
"""Parameters that an explanation names at most."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The shortest account of which cells violate."""

    kind: Literal["all", "any", "together", "none"]
    """Every cell violates, whatever is on; those in which any of the parameters is on; those in which all of them are
    on; or none of these."""
    parameters: tuple[str, ...] = ()
    unexplained: int = 0
    """Violating cells of which the account does not tell."""
    spared: int = 0
    """Cells of which the account tells, and that conform: there a parameter may have too little effect."""

    def told(self) -> str:
        """Return the end of a sentence: where the violating cells are."""
        names = _listed(self.parameters, "or" if self.kind == "any" else "and")
        match self.kind:
            case "all":
                return "whatever the parameters are"
            case "none":
                return "in cells that share no parameter"
            case _:
                where = f"where {names} {'is' if len(self.parameters) == 1 else 'are'} on"
                if self.kind == "any" and len(self.parameters) > 1:
                    where = f"where {names} is on"
        return where + (
            f", and in {self.unexplained} other{'s' if self.unexplained > 1 else ''}" if self.unexplained else ""
        )


def shared(violating: Sequence[Collection[str]], conforming: Sequence[Collection[str]]) -> Shared:
    """Return what the violating cells have in common that the others have not.

    All accounts of up to three parameters are held against the cells: that a cell violates where any of them is on, or
    where all of them are. The one with the fewest exceptions is taken, then the one that names the fewest parameters,
    then the one that needs no coincidence of several.

    Args:
        violating: Names of the parameters that are on, of each cell that violates.
        conforming: Of each cell that does not.
    """
    if any(not names for names in violating):
        return Shared(kind="all", spared=len(conforming))
    known = sorted({name for names in (*violating, *conforming) for name in names})
    kinds: tuple[Literal["any", "together"], ...] = ("any", "together")
    accounts = [
        _account(kind, chosen, violating, conforming)
        for size in range(1, _MOST + 1)
        for chosen in combinations(known, size)
        for kind in kinds[:size]
    ]
    best = min(accounts, key=lambda one: (one.unexplained + one.spared, len(one.parameters)), default=None)
    if best is None or 2 * best.unexplained > len(violating) or best.unexplained + best.spared >= len(violating):
        common = [name for name in known if all(name in names for names in violating)]
        if not common:
            return Shared(kind="none", unexplained=len(violating))
        return _account("together", tuple(common), violating, conforming)
    return best


def _account(
    kind: Literal["any", "together"],
    chosen: tuple[str, ...],
    violating: Sequence[Collection[str]],
    conforming: Sequence[Collection[str]],
) -> Shared:
    holds = any if kind == "any" else all

    def told(names: Collection[str]) -> bool:
        return holds(name in names for name in chosen)

    return Shared(
        kind=kind,
        parameters=chosen,
        unexplained=sum(not told(names) for names in violating),
        spared=sum(map(told, conforming)),
    )


def _listed(names: Sequence[str], word: str) -> str:
    return f" {word} ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} {word} {names[-1]}"
