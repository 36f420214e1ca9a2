"""Parts of a plan: several machines drive one, each asking the requests that are its own.

Stages are a pure function of the plan and of the evidence of earlier ones, so every machine plans the same ones as long
as it holds that evidence, and a shard ends where it would need the others' part. Merged, the parts are the
evidence that one machine would have collected, and are judged as such.
"""

from typing import Self

from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Role, Stage
from specaudit.model.record import Record


class Shard(Record, frozen=True):
    """The share that one of several machines has of every stage."""

    number: int
    """1 to `of`."""
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/3`.

        Raises:
            UsageError: it is none.
        """
        number, _, of = text.partition("/")
        if number.isascii() and of.isascii() and number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of):
            return cls(int(number), int(of))
        raise UsageError(f"{text!r} is no shard: the second of three is 2/3.", hint="specaudit run --shard 1/2")

    def __str__(self) -> str:
        """As it is read."""
        return f"{self.number}/{self.of}"

    def reads(self, stage: Stage) -> bool:
        """Whether counters are read: where several ask at once, they would show the others' requests too."""
        return stage.scrape and (self == WHOLE or _is_about_counters(stage))

    def slots(self, stage: Stage) -> frozenset[int]:
        """Return the slots of a stage that are this shard's.

        The requests of every arm are dealt out in turn, so that each shard has its share of all, side by side. While
        counters are what it is about, nobody else may ask: such a stage is the first shard's alone.
        """
        if _is_about_counters(stage):
            return frozenset(range(stage.size)) if self.number == 1 else frozenset()
        own, dealt = set(), dict[Role, int]()
        slots = (planned for block in stage.blocks for planned in block)
        for slot, planned in enumerate(slots):
            turn = dealt[planned.arm] = dealt.get(planned.arm, -1) + 1
            if turn % self.of == self.number - 1:
                own.add(slot)
        return frozenset(own)


WHOLE = Shard(1, 1)
"""All of the plan."""


def _is_about_counters(stage: Stage) -> bool:
    return stage.scrape and stage.name.startswith("CTR")


class PartDone(CouldNotTest):
    """A shard has asked what is its own of a stage, and the next one depends on what the others have."""

    def __init__(self, shard: Shard, stage: str) -> None:
        super().__init__(
            f"Shard {shard} has asked its part of stage {stage}; what comes next depends on the other parts.",
            hint="specaudit merge DIR…, then specaudit run --resume MERGED (with --shard again, to go on in parts)",
        )
        self.option = f"--shard {shard}"


def wait_for_others(shard: Shard, evidence: Evidence, stage: Stage) -> None:
    """Go on only where every request of a stage has been made, by whomever.

    Raises:
        PartDone: some are left, which are not this shard's.
    """
    if any(not evidence.attempts_at(stage.name, slot) for slot in range(stage.size)):
        raise PartDone(shard, stage.name)
