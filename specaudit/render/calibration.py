"""A calibration arranged for reading: the matrix's columns and rows, and its conclusions in sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

from specaudit.model.calibration import Calibration, Kill, Method, Speed


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was said of one subject."""

    subject: str
    family: str
    stein: float | None
    """Mean number of tokens that no test can beat that judges each token by the one before."""
    cells: dict[tuple[str, str], Kill]
    """By check and level."""

    @property
    def kills(self) -> list[Kill]:
        """The kills, that with the fewest tokens first."""
        return sorted((cell for cell in self.cells.values() if cell.killed), key=lambda cell: cell.tokens)


def columns(found: Calibration) -> list[tuple[str, str]]:
    """Return the checks and levels of the matrix, in the order in which they were computed."""
    order = list(dict.fromkeys(kill.check for kill in found.kills))
    levels = list(dict.fromkeys(kill.level for kill in found.kills))
    used = {(kill.check, kill.level) for kill in found.kills}
    return sorted(used, key=lambda column: (order.index(column[0]), levels.index(column[1])))


def rows(found: Calibration) -> list[Row]:
    """Return the matrix by subject."""
    cells: dict[str, dict[tuple[str, str], Kill]] = {}
    for kill in found.kills:
        cells.setdefault(kill.subject, {})[kill.check, kill.level] = kill
    limits = {one.subject: log(1 / found.alpha) / one.kl for one in found.divergences if one.kl is not None}
    return [
        Row(subject=name, family=next(iter(own.values())).family, stein=limits.get(name), cells=own)
        for name, own in cells.items()
    ]


def conclusions(found: Calibration) -> Iterator[str]:
    """Yield what the calibration comes to, a sentence each."""
    judged = {kill.subject for kill in found.kills}
    mutants = {one for one in judged if one.startswith("mutant:")} | {one.subject for one in found.survivors}
    healthy = judged - mutants
    killed = len(mutants) - len(found.survivors) - len({one.subject for one in found.crashed} & mutants)
    if mutants:
        yield f"{killed} of {len(mutants)} mutants were killed."
    for one in found.survivors:
        yield f"{one.subject} survives; {f'it needs {one.expected}' if one.expected else 'no check killed it'}."
    if found.left_out:
        listed = " and ".join(found.left_out)
        yield f"{listed} cost too much for a quick calibration: no subject was judged by them."
    yield from (f"{one.subject} crashed under {one.check} ({one.level}): {one.told}" for one in found.crashed)
    if healthy:
        accused = {one.subject for one in found.accused}
        yield f"{len(accused)} of {len(healthy)} controls and correct decoders were accused."
    yield from (f"{one.subject} was accused by {one.check} ({one.level}): {one.told}" for one in found.accused)
    if found.methods:
        good = sum(method.kept for method in found.methods)
        yield f"{good} of {len(found.methods)} methods are as they should be."
    if found.speeds:
        bounded = [speed for speed in found.speeds if speed.allowed is not None]
        soon = sum(speed.kept for speed in bounded)
        yield f"{soon} of {len(bounded)} medians to a verdict are within what is allowed."


def method_told(method: Method) -> str:
    """Say whether a method is as it should be."""
    if method.negative_control:
        return "caught, as it must be" if method.kept else "NOT CAUGHT"
    return "kept" if method.kept else "BROKEN"


def allowed(speed: Speed) -> str:
    """Say what the median is held against."""
    return "–" if speed.allowed is None else f"{speed.allowed:,.0f}"


def speed_told(speed: Speed) -> str:
    """Say whether a median is within what is allowed."""
    if speed.allowed is None:
        return "no bound"
    return "kept" if speed.kept else "slower"


def without(speed: Speed) -> str:
    """Say what the portfolio held of the fault."""
    return "left out" if speed.without else "bet on"


def over_stein(tokens: float | None, stein: float | None) -> str:
    """Return tokens as a multiple of the Stein limit; nothing where one of both is not known."""
    return f"{tokens / stein:.1f}" if tokens is not None and stein else ""
