"""What a finding of GRD1 shows of its comparisons."""

from collections.abc import Sequence

import numpy as np

from specaudit.checks.exhibits import points
from specaudit.checks.greedy.conditions import Condition
from specaudit.checks.greedy.floor import Floor
from specaudit.checks.greedy.partings import Parting
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Statistic, View, Witness


def figures(one: Condition, *, marked: bool) -> dict[str, float]:
    """Return the figures of one circumstance, marked by its name or not."""
    found: dict[str, float] = {
        "prompts compared": len(one.compared),
        "prompts lost": one.lost,
        "diverging prompts": len(one.real),
        "exact ties": one.ties,
        "hard divergences": len(one.hard),
    }
    if one.real:
        found["median first divergence"] = float(np.median([parting.position for parting in one.real]))
    return {f"{one.name}: {name}": value for name, value in found.items()} if marked else found


def view(evidence: Evidence, one: Condition, measured: Sequence[Floor]) -> View:
    """Return what one circumstance shows by itself."""
    level = "exact" if "reference" in evidence.laws else "scored" if any(c.gaps for c in one.compared) else "sampled"
    return View(
        name=f"{one.name}: {one.verdict(measured)}",
        samples=len(one.compared),
        law=level,
        effect=one.effect,
        statistic=Statistic(
            name="diverging prompts",
            value=float(len(one.real)),
            p_value=None if one.soft is None else one.soft.p_value,
            method="" if one.soft is None else "bets on flips against the noise floor, by bins of the margin",
        ),
    )


def exhibit(divergences: Sequence[Parting], hard_gap: float) -> Exhibit:
    """Return where completions part, and by how much."""
    return points(
        "First divergences",
        Column(name="position", values=tuple(float(d.position) for d in divergences), unit="tokens"),
        Column(name="gap", values=tuple(d.gap for d in divergences), unit="nats"),
        Column(name="emitted in place of", values=tuple(f"{d.emitted!r} for {d.expected!r}" for d in divergences)),
        rules={"hard gap": hard_gap} if hard_gap else {},
        note="The gap is how much the reference prefers its own token; a missing one is not known.",
    )


def clearest(partings: Sequence[Parting]) -> Parting:
    """Return the parting at which the subject's token is least likely; there must be one."""
    return max(partings, key=lambda one: -1.0 if one.gap is None else one.gap)


def witness(partings: Sequence[Parting]) -> Witness:
    """Return the clearest of the partings, of which there must be one."""
    worst = clearest(partings)
    emitted = "the end" if worst.emitted is None else f"token {worst.emitted!r}"
    expected = "the end" if worst.expected is None else f"token {worst.expected!r}"
    prompt = worst.prompt if isinstance(worst.prompt, str) else " ".join(map(str, worst.prompt))
    return Witness(
        what=f"{emitted} in place of {expected} at position {worst.position} after prompt {prompt!r}",
        observed=None if worst.gap is None else -worst.gap,
        expected=0.0,
        unit="logprob relative to the reference's own token, in nats",
    )
