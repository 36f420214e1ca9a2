"""Join what the shards of one plan have collected into the evidence of one audit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from specaudit.audit.record import Recorder, read_evidence
from specaudit.audit.undone import left_undone
from specaudit.checks import registry
from specaudit.model.entries import (
    AnyEntry,
    AttemptEntry,
    LawEntry,
    PlanEntry,
    ResumeEntry,
    SealEntry,
    SnapshotEntry,
    StageEntry,
    StopEntry,
)
from specaudit.model.errors import UsageError
from specaudit.model.evidence import Evidence

OPTION = "--shard"
"""What an audit was ended by whose parts are not all there yet."""

_OWN = ("created", "suite_file")
"""What every shard's plan may say in its own way."""


def merge(folders: Sequence[Path], out: Path) -> Evidence:
    """Write the evidence of all parts as one, sealed if nothing of the plan is left to ask.

    What the parts have in common because they went on from one merged audit is written once. Readings of counters and
    the requests between them are one shard's, and keep their order.

    Raises:
        UsageError: there is no evidence in a folder, the parts are not of one plan and one engine, two of them hold the
            same request, or `out` holds evidence already.
        CouldNotTest: the disk does not take the evidence.
    """
    parts = {str(folder): read_evidence(folder) for folder in folders}
    if len(parts) < 2:
        raise UsageError("Merging needs the evidence of two shards or more.", hint="specaudit merge DIR DIR --out DIR")
    first = next(iter(parts.values()))
    for folder, part in parts.items():
        _belongs(folder, part, first)
    shared = _history(parts.values())
    own = {folder: part.entries[len(shared) :] for folder, part in parts.items()}
    _disjoint(own)
    with Recorder(out) as recorder:
        for entry in (*(shared or first.entries[:1]), *_going_on(own, shared)):
            recorder.append(entry)
        for entry in _told_once(own, shared):
            recorder.append(entry)
        evidence = recorder.evidence()
        if _finished(evidence):
            recorder.append(SealEntry(records=len(recorder.entries)))
        else:
            why = f"The parts of {len(parts)} shards were merged. {left_undone(evidence)}"
            recorder.append(StopEntry(why=why, hint="specaudit run --resume DIR", limit=OPTION))
        return recorder.evidence()


def _belongs(folder: str, part: Evidence, first: Evidence) -> None:
    """Refuse a part of another audit."""
    for name in part.plan.__struct_fields__:
        ours, others = getattr(first.plan, name), getattr(part.plan, name)
        if name not in _OWN and ours != others:
            raise UsageError(
                f"{folder} is not of the same plan: its {name} is {_short(others)} and not {_short(ours)}.",
                hint="Run every shard with the same options, --shard apart",
            )
    for role, found in part.capabilities.items():
        if (known := first.capabilities.get(role)) is not None and known != found:
            name = next(name for name in found.__struct_fields__ if getattr(found, name) != getattr(known, name))
            raise UsageError(
                f"{folder} met another {role}: its {name} is {_short(getattr(found, name))} and not "
                f"{_short(getattr(known, name))}.",
                hint="Let every shard ask the same engine, served in the same way",
            )
    for name, stage in part.stages.items():
        if name in first.stages and first.stages[name] != stage:
            raise UsageError(
                f"{folder} planned stage {name} otherwise: it began without what other shards had collected before.",
                hint="specaudit merge the parts of each stage before going on with the next",
            )


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= 60 else f"{told[:57]}…"


def _history(parts: Iterable[Evidence]) -> tuple[AnyEntry, ...]:
    """What all parts went on from: the lines that begin all of them, chain included."""
    lines = zip(*(part.entries for part in parts), strict=False)
    return tuple(same[0] for same in takewhile(lambda same: all(entry == same[0] for entry in same), lines))


def _disjoint(own: Mapping[str, Sequence[AnyEntry]]) -> None:
    """Refuse two parts that asked the same request, or read the same counters: one would be counted twice."""
    asked: dict[tuple[str, str, int], str] = {}
    for folder, entries in own.items():
        for place in sorted({place for entry in entries if (place := _place(entry)) is not None}):
            if place in asked:
                what, stage, number = place
                raise UsageError(
                    f"{asked[place]} and {folder} overlap: both hold {what} {number + 1} of stage {stage}.",
                    hint="Give every machine another shard: --shard 1/2, --shard 2/2",
                )
            asked[place] = folder


def _place(entry: AnyEntry) -> tuple[str, str, int] | None:
    match entry:
        case AttemptEntry():
            return "request", entry.stage, entry.slot
        case SnapshotEntry():
            return "reading", entry.stage, entry.block
        case _:
            return None


def _going_on(own: Mapping[str, Sequence[AnyEntry]], shared: Sequence[AnyEntry]) -> Iterator[AnyEntry]:
    """What must follow where the common part had ended with a stop."""
    if shared and isinstance(shared[-1], StopEntry):
        yield next(entry for entries in own.values() for entry in entries if isinstance(entry, ResumeEntry))


def _told_once(own: Mapping[str, Sequence[AnyEntry]], shared: Sequence[AnyEntry]) -> Iterator[AnyEntry]:
    """Everything else, part after part: stages and laws when they are first told, and no end before the end."""
    told = {_name(entry) for entry in shared} - {None}
    for entries in own.values():
        for entry, following in zip(entries, [*entries[1:], None], strict=True):
            if isinstance(entry, PlanEntry | SealEntry) or (isinstance(entry, StopEntry) and following is None):
                continue
            if isinstance(entry, ResumeEntry) and entry is entries[0]:
                continue
            if (name := _name(entry)) is None or name not in told:
                yield entry
                told.add(name)


def _name(entry: AnyEntry) -> str | None:
    """By what a stage or a law is told once."""
    match entry:
        case StageEntry():
            return f"stage {entry.stage.name}"
        case LawEntry():
            return f"law {entry.role}"
        case _:
            return None


def _finished(evidence: Evidence) -> bool:
    """Whether every request was made, and no check would go on."""
    plan = evidence.plan
    asked = all(
        evidence.attempts_at(name, slot) for name, stage in evidence.stages.items() for slot in range(stage.size)
    )
    return asked and not any(
        registry.get(check_id).next_stage(plan, registry.settings_of(plan.suite, check_id), evidence)
        for check_id in plan.checks
    )
