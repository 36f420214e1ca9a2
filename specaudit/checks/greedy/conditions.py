"""How the subject's greedy completions compare with the plain ones in one circumstance: alone, or beside traffic."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from specaudit.checks.greedy.floor import Floor
from specaudit.checks.greedy.partings import Compared, Parting
from specaudit.checks.shares import share
from specaudit.model.finding import Effect, Verdict
from specaudit.stats.ties import Triage, excess_bound, flip_floor, triage


@dataclass(frozen=True, kw_only=True, eq=False)
class Condition:
    """The subject's completions in one circumstance.

    Attributes:
        name: `alone` or `beside traffic`.
        compared: every prompt that both answered with tokens.
        lost: prompts that were not.
        real: where completions part, exact ties apart.
        hard: prompts where the target's preference was too clear for numeric noise, there or behind.
        soft: the flips against the floors; None where no floor was measured.
        excess: whether there are more flips than the floors allow.
        wide: whether a floor at a verifier's width is among them.
        effect: share of prompts that part, beyond that of plain decoding where a floor was measured.
    """

    name: str
    compared: Sequence[Compared]
    lost: int
    real: Sequence[Parting]
    hard: Sequence[Compared]
    soft: Triage | None
    excess: bool
    wide: bool
    effect: Effect

    @property
    def ties(self) -> int:
        """Prompts that part at an exact tie."""
        return sum(one.parting is not None for one in self.compared) - len(self.real)

    def verdict(self, floors: Sequence[Floor]) -> Verdict:
        """Return what this circumstance shows by itself."""
        assert self.effect.high is not None
        assert self.effect.tolerance is not None
        if self.hard or (self.excess and self.wide):
            return Verdict.INCONCLUSIVE if any(floor.hard for floor in floors) else Verdict.VIOLATES
        if self.excess or (self.real and not floors):
            return Verdict.INCONCLUSIVE
        return Verdict.CONFORMS if self.effect.high < self.effect.tolerance else Verdict.INCONCLUSIVE

    def told(self, floors: Sequence[Floor]) -> str:
        """Say in a sentence how they compare: bit-equal, equal up to numeric ties, or different."""
        count, of = len(self.compared), f"{len(self.real)} of {len(self.compared)} greedy completions differ from the "
        if self.hard and any(floor.hard for floor in floors):
            return (
                f"{of}plain target's, but plain decoding contradicts itself beyond numeric noise too: whatever answers "
                "for the reference is not one target."
            )
        if self.hard:
            return (
                f"{of}plain target's, {len(self.hard)} of them where the target's preference is too clear for numeric "
                "noise."
            )
        if self.excess:
            return f"{of}plain target's, more often than plain decoding differs from itself{self._unless()}."
        if self.real and not floors:
            return (
                f"{of}plain target's, all at near ties or at gaps that are not known: numeric noise is not ruled out."
            )
        if self.real:
            return (
                f"{count} greedy completions equal the plain target's up to numeric ties: {len(self.real)} part, no "
                "more often than plain decoding parts from itself."
            )
        equal = "token for token" if not self.ties else f"but for exact ties in {self.ties} of them"
        return f"All {count} greedy completions equal the plain target's, {equal}."

    def _unless(self) -> str:
        return "" if self.wide else ", unless the verifier's width is to blame, at which no floor was measured"


def condition(
    name: str,
    compared: Sequence[Compared],
    floors: Sequence[Floor],
    *,
    before: Condition | None,
    planned: int,
    tolerance: float,
    hard_gap: float,
    alpha: float,
    delta: float,
    shared: bool,
) -> Condition:
    """Return how completions compare.

    Args:
        name: The circumstance.
        compared: Every prompt that both answered; at least one.
        floors: Of plain decoding; none where there is no noise, or none was measured.
        before: The subject in a quieter circumstance. It is a floor too, at a verifier's width: if it is wrong itself,
            that is told of it.
        planned: Prompts that were to be compared.
        tolerance: Share of prompts that may part.
        hard_gap: Nats from which on a preference is no numeric accident.
        alpha: Error probability of an excess of flips.
        delta: Error probability of the bound.
        shared: Whether the bound shares its error probability with one of the floors.
    """
    partings = [one.parting for one in compared if one.parting is not None]
    real = [one for one in partings if not one.is_tie]
    measured = [floor.flips for floor in floors]
    if before is not None and measured:
        measured.append(flip_floor(*_positions(before.compared)))
    soft = triage(*_positions(compared), measured, alpha) if measured else None
    lost = planned - len(compared)
    effect = share(
        "share of prompts that diverge",
        len(real),
        len(compared),
        lost=lost,
        alpha=delta,
        delta=delta,
        tolerance=tolerance,
    )
    if shared:
        effect = _beyond(effect, len(real) + lost, planned, floors, delta)
    return Condition(
        name=name,
        compared=compared,
        lost=lost,
        real=real,
        hard=[one for one in compared if one.largest_gap > hard_gap],
        soft=soft,
        excess=soft is not None and soft.p_value <= alpha,
        wide=any(floor.wide for floor in floors) or before is not None,
        effect=effect,
    )


def _beyond(effect: Effect, events: int, trials: int, floors: Sequence[Floor], delta: float) -> Effect:
    """The share beyond that on which plain decoding differs from itself, where that is most."""
    return msgspec.structs.replace(
        effect,
        name=f"{effect.name} beyond plain decoding's own",
        value=max(0.0, effect.value - max((one.diverging / one.prompts for one in floors), default=0.0)),
        low=None,
        high=excess_bound(events, trials, [(one.diverging, one.prompts) for one in floors], delta),
    )


def _positions(compared: Sequence[Compared]) -> tuple[list[float], list[float]]:
    """Gaps and margins of all positions, in the order of the plan."""
    return [gap for one in compared for gap in one.gaps], [margin for one in compared for margin in one.margins]
