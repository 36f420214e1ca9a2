"""The noise floor: how often plain greedy decoding differs from itself, and in which circumstances."""

from dataclasses import dataclass

from specaudit.checks.greedy.asked import Forced, answers, forcible, scores
from specaudit.checks.greedy.partings import Compared, Reader, forced
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, Role
from specaudit.stats.ties import FlipFloor, flip_floor

SAME, OTHER, WIDE = "GRD2", "GRD2.other", "GRD2.wide"


@dataclass(frozen=True, kw_only=True, eq=False)
class Floor:
    """Plain decoding beside itself, in one circumstance.

    Attributes:
        name: the circumstance, as findings name it.
        prompts: prompts that were compared.
        lost: prompts that were asked for and could not be compared.
        diverging: prompts on which it differs, exact ties apart.
        ties: prompts on which it parts at an exact tie.
        hard: prompts on which it parts where its preference is too clear for numeric noise.
        gaps: nats at which it parts, where they are known.
        flips: by bins of the margin.
        wide: whether many positions were computed at once, as a verifier does.
    """

    name: str
    prompts: int
    lost: int
    diverging: int
    ties: int
    hard: int
    gaps: tuple[float, ...]
    flips: FlipFloor
    wide: bool


def other_concurrency(plan: Plan) -> int | None:
    """Return the other number of requests in flight at which plain decoding is replayed; None where there is none."""
    return 1 if plan.concurrency > 1 else None


def floors(evidence: Evidence, hard_gap: float) -> list[Floor]:
    """Return the floors that were measured."""
    plain = answers(evidence, SAME, "reference")
    reader = Reader(evidence)
    found = []
    for stage, name in ((SAME, f"{evidence.plan.concurrency} in flight"), (OTHER, "1 in flight")):
        if stage in evidence.stages:
            replayed = answers(evidence, stage, "replay")
            compared = [
                reader.compare(index, answer.prompt, answer.completion, plain[index].completion)
                for index, answer in replayed.items()
                if index in plain
            ]
            found.append(_floor(name, compared, _asked(evidence, stage, "replay"), hard_gap))
    if WIDE in evidence.stages:
        found.append(_wide(evidence, hard_gap))
    return [floor for floor in found if floor.prompts]


def to_force(evidence: Evidence) -> list[Forced]:
    """Return plain completions that the reference is to read at once: a verifier's width, and more."""
    return forcible(evidence, "plain", answers(evidence, SAME, "reference").items())


def _asked(evidence: Evidence, stage: str, role: Role) -> int:
    """Prompts of an arm that were asked at all: what never was is no loss."""
    slots = evidence.answered(stage, role)
    return sum(bool(evidence.attempts_at(stage, slot)) for slot, _, _ in slots)


def _floor(name: str, compared: list[Compared], asked: int, hard_gap: float) -> Floor:
    partings = [one.parting for one in compared if one.parting is not None]
    real = [one for one in partings if not one.is_tie]
    return Floor(
        name=name,
        prompts=len(compared),
        lost=asked - len(compared),
        diverging=len(real),
        ties=len(partings) - len(real),
        hard=sum(one.largest_gap > hard_gap for one in compared),
        gaps=tuple(one.gap for one in real if one.gap is not None),
        flips=flip_floor(
            [gap for one in compared for gap in one.gaps], [margin for one in compared for margin in one.margins]
        ),
        wide=False,
    )


def _wide(evidence: Evidence, hard_gap: float) -> Floor:
    told = scores(evidence, WIDE, to_force(evidence))
    rows = [forced(scored) for scored in told.values()]
    flips = [[gap for gap, _ in row if gap > 0] for row in rows]
    return Floor(
        name="read at once",
        prompts=len(rows),
        lost=_asked(evidence, WIDE, "reference") - len(rows),
        diverging=sum(map(bool, flips)),
        ties=0,
        hard=sum(any(gap > hard_gap for gap in row) for row in flips),
        gaps=tuple(gap for row in flips for gap in row),
        flips=flip_floor([gap for row in rows for gap, _ in row], [margin for row in rows for _, margin in row]),
        wide=True,
    )
