"""The counter windows of a stage, and what they show of the verification paths that were taken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specaudit.checks.memo import once
from specaudit.counters.acceptance import Acceptance, acceptance
from specaudit.counters.answer_windows import answer_window
from specaudit.counters.answers import AnswerError, read_answer, read_steps
from specaudit.counters.interface import Reading
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.counters.window import Window
from specaudit.counters.windows import page_windows
from specaudit.model.completion import Response
from specaudit.model.entries import SnapshotEntry
from specaudit.model.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class BlockWindow:
    """The window of one replica around one block of a stage."""

    block: int
    """Number of the block, from 1."""
    replica: str = ""
    """Which of the engines on the page; empty where there is one, or no page could be read."""
    status: str
    """`valid`, `unverified` or `void`."""
    reasons: tuple[str, ...]
    window: Window | None
    """None where a page could not be read."""


def block_windows(evidence: Evidence, *stages: str, min_drafts: int = 1) -> list[BlockWindow]:
    """Return the windows around each block of the stages, as the counters and the client's own tokens judge them.

    With fewer drafts than the floor `min_drafts` a window is void.
    """
    return [window for stage in stages for window in _stage_windows(evidence, stage, min_drafts)]


def _stage_windows(evidence: Evidence, stage: str, min_drafts: int) -> list[BlockWindow]:
    readings = _readings(evidence, stage)
    windows: list[BlockWindow] = []
    first = 0
    for number, block in enumerate(evidence.stages[stage].blocks, start=1):
        slots = [slot for slot, planned in enumerate(block, start=first) if planned.engine == "subject"]
        first += len(block)
        if number - 1 in readings and number in readings:
            responses = [evidence.response(stage, slot) for slot in slots]
            before, after = readings[number - 1], readings[number]
            windows += _around(number, before, after, responses, shown=_shows_all(evidence), min_drafts=min_drafts)
    return windows


def whole_windows(evidence: Evidence, stage: str) -> list[BlockWindow]:
    """Return one window of each replica over all blocks of a stage but the first; none where its ends were not read.

    Counters that lag behind count for one block what the block before generated: they contradict single windows and
    agree over many. What contradicts even these windows is counted wrongly.
    """
    blocks = evidence.stages[stage].blocks
    first = 1 if len(blocks) > 1 else 0
    readings = _readings(evidence, stage)
    if first not in readings or len(blocks) not in readings:
        return []
    skipped = sum(len(block) for block in blocks[:first])
    slots = [(slot, planned.engine) for slot, planned in enumerate(evidence.stages[stage].slots()) if slot >= skipped]
    responses = [evidence.response(stage, slot) for slot, engine in slots if engine == "subject"]
    return _around(len(blocks), readings[first], readings[len(blocks)], responses, shown=_shows_all(evidence))


def answer_windows(evidence: Evidence, stage: str) -> list[BlockWindow]:
    """Return a window for each answer that counts its own speculation; the slots of the stage are the blocks."""
    windows: list[BlockWindow] = []
    for slot, planned, response in evidence.answered(stage, "subject"):
        if response is None or response.speculation is None or planned.request.n != 1:
            continue
        billed = max(0, response.completion_tokens) if response.completion_tokens is not None else None
        told = {**response.speculation, "usage": {"completion_tokens": billed}}
        try:
            counts = read_answer(told)
        except AnswerError as error:
            windows.append(BlockWindow(block=slot + 1, status="void", reasons=(str(error),), window=None))
            continue
        if counts is None:
            continue
        if counts.forwards is None and (steps := response.completions[0].steps) is not None:
            counts = replace(counts, forwards=max(0, len(steps.emitted) - 1))
        judged = answer_window(counts, _generated(response, shown=_shows_all(evidence)))
        windows.append(BlockWindow(block=slot + 1, status=judged.status, reasons=judged.reasons, window=judged))
    return windows


def reconciles(window: BlockWindow) -> bool:
    """Whether a window counts what was received and nothing else, be it without positions to hold it against."""
    return window.status == "valid" or (
        window.status == "unverified" and window.window is not None and bool(window.window.reconciled)
    )


def counted_windows(evidence: Evidence, stage: str, *, min_drafts: int = 1) -> list[BlockWindow]:
    """Return the windows of the stage from the metrics pages, or from the answers where no page counts speculation."""
    if evidence.capabilities["subject"].counters:
        return block_windows(evidence, stage, min_drafts=min_drafts)
    return answer_windows(evidence, stage)


def coverage(evidence: Evidence, *stages: str) -> Acceptance | None:
    """Return what is seen of the stages' verification paths; None where nothing is.

    That is what the counters show, if they can be read and believed. In process, where there are none, it is what came
    out of each step.
    """
    subject = evidence.capabilities.get("subject")
    if subject is None:
        return None
    if subject.counters:
        windows = [w.window for w in block_windows(evidence, *stages) if w.window is not None]
    else:
        windows = [window for stage in stages for window in _steps_seen(evidence, stage)]
    found = acceptance(windows, confidence=0.99)
    if found is not None and found.draft_tokens is None and not subject.counters:
        return replace(found, rejecting_steps=None)  # what a step emitted does not tell what it rejected
    return found


def _steps_seen(evidence: Evidence, stage: str) -> Iterator[Window]:
    """A window for each answer whose adapter saw how many tokens each step emitted.

    A step that emitted several was drafted; of one that emitted a single token only the adapter may know.
    """
    limit = evidence.capabilities["subject"].draft_tokens or 0
    for _, _, response in evidence.answered(stage, "subject"):
        if response is None or response.speculation is None:
            continue
        try:
            counts = read_steps(response.speculation)
        except AnswerError:
            continue
        if counts is not None and counts.accepted_per_step is not None:
            taken = counts.accepted_per_step
            reached = tuple(sum(accepted >= depth for accepted in taken) for depth in range(1, limit + 1))
            steps = sum(map(bool, taken if counts.draft_tokens is None else counts.drafted_per_step or ()))
            drafted = replace(counts, steps=steps, accepted_per_position=reached)
            yield answer_window(drafted, _generated(response, shown=_shows_all(evidence)))


def nothing_drafted(evidence: Evidence, stages: Sequence[str], taken: Acceptance | None) -> str:
    """Say why no draft was seen to be verified in the stages, the end of a sentence; nothing where one was."""
    subject = evidence.capabilities.get("subject")
    if subject is None:
        return "nothing was asked of the subject"
    if subject.draft_tokens == 0:
        return "the subject decodes plainly, so nothing was drafted"
    if taken is not None:
        return ""
    if not subject.counters:
        return "whether drafts were verified cannot be seen without speculation counters"
    windows = block_windows(evidence, *stages, min_drafts=0)
    if not windows:
        return "no window of counters was completed"
    void = next((window for window in windows if window.status != "valid"), None)
    return "nothing was drafted" if void is None else f"the counters cannot be believed ({void.reasons[0]})"


def missing_path(evidence: Evidence, stages: Sequence[str], taken: Acceptance | None) -> str:
    """Name the verification path without which a bounded law says nothing of the verifier; nothing where none lacks."""
    if missing := nothing_drafted(evidence, stages, taken):
        return missing
    if taken is None or taken.rejecting_steps is None:
        return "whether drafts were rejected cannot be seen, as the engine counts no positions"
    if not taken.rejecting_steps:
        return "no draft was rejected"
    return "" if taken.bonus_rows else "no bonus token was drawn"


def paths_taken(taken: Acceptance | None) -> dict[str, int | None]:
    """Return how often each verification path was taken, as findings report it."""
    return {
        "steps that rejected a draft": taken.rejecting_steps if taken else None,
        "bonus tokens drawn": taken.bonus_rows if taken else None,
        "drafted steps": taken.drafts if taken else None,
    }


def rare_paths(tolerance: float, taken: Acceptance | None) -> tuple[str, ...]:
    """Name the paths that were taken too rarely for a fault on them alone to reach the tolerance, a sentence each."""
    if taken is None:
        return ()
    paths = {"rejected a draft": taken.rejecting_steps, "drew a bonus token": taken.bonus_rows}
    return tuple(
        f"only {count / taken.drafts:.1%} of the drafted steps {what}, so a fault there alone could hide below the "
        "tolerance"
        for what, count in paths.items()
        if count is not None and 0 < count < tolerance * taken.drafts
    )


@once
def _readings(evidence: Evidence, stage: str) -> dict[int, tuple[Reading, ...] | str]:
    """The readings of all replicas by block, those of each page behind one another, or why there are none.

    Which of the replicas answered is not known, so that without the page of one nothing is known of the others.
    """
    pages = {source: evidence.snapshots(stage, source) for source in evidence.plan.pages}
    together: dict[int, tuple[Reading, ...] | str] = {}
    for block in set.intersection(*map(set, pages.values())):
        found: list[Reading] = []
        for source, snapshots in pages.items():
            read = _reading(snapshots[block])
            if isinstance(read, str):
                together[block] = f"{source}: {read}" if source else read
                break
            found += [replace(reading, replica=_named(source, reading.replica)) for reading in read]
        else:
            together[block] = tuple(found)
    return together


def _named(source: str, replica: str) -> str:
    return f"{source} engine {replica}" if source and replica else source or replica


def _reading(snapshot: SnapshotEntry) -> tuple[Reading, ...] | str:
    """The readings on a page, or the reason why there are none."""
    if snapshot.failure is not None:
        return snapshot.failure
    if not snapshot.quiet:
        return "the counters were still moving when the page was read"
    try:
        return read_page(snapshot.page, snapshot.content_type)
    except PageError as error:
        return str(error)


def _around(
    number: int,
    before: tuple[Reading, ...] | str,
    after: tuple[Reading, ...] | str,
    responses: list[Response | None],
    *,
    shown: bool,
    min_drafts: int = 1,
) -> list[BlockWindow]:
    unreadable = tuple(reading for reading in (before, after) if isinstance(reading, str))
    if isinstance(before, str) or isinstance(after, str):
        return [BlockWindow(block=number, status="void", reasons=unreadable, window=None)]
    answered = [response for response in responses if response is not None]
    if len(answered) < len(responses):
        lost = "an answer was lost in this window, so what it generated is unknown"
        return [BlockWindow(block=number, status="void", reasons=(lost,), window=None)]
    judged = page_windows(
        before,
        after,
        received_tokens=sum(_generated(response, shown=shown) for response in answered),
        requests=sum(len(response.completions) for response in answered),
        min_drafts=min_drafts,
    )
    judged = tuple(one for one in judged if one.generation_tokens) or judged  # a replica may have had nothing to do
    return [
        BlockWindow(block=number, replica=one.after.replica, status=one.status, reasons=one.reasons, window=one)
        for one in judged
    ]


def _shows_all(evidence: Evidence) -> bool:
    """True if the subject shows every token that it generates."""
    found = evidence.capabilities["subject"]
    return found.tokens != "retokenized" and found.reasoning != "hidden"


def _generated(response: Response, *, shown: bool) -> int:
    """Tokens received in a response; as billed only where the engine does not show all tokens.

    Bills are no measure of what was generated: llama.cpp (b11549) bills one choice of n. But a token that ends an
    answer is generated, and not shown by every engine.
    """
    tokens = [completion.tokens for completion in response.completions]
    received = [len(found) for found in tokens if found is not None]
    if (len(received) < len(tokens) or not shown) and response.completion_tokens is not None:
        return response.completion_tokens
    arrived, ended = sum(received), sum(completion.finish_reason != "length" for completion in response.completions)
    if response.completion_tokens is not None and arrived < response.completion_tokens <= arrived + ended:
        return response.completion_tokens
    return arrived
