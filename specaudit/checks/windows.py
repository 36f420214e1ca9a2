"""The counter windows of a stage, and what they show of the verification paths that were taken."""

from dataclasses import dataclass

from specaudit.counters.acceptance import Acceptance, acceptance
from specaudit.counters.interface import Reading
from specaudit.counters.page import PageError
from specaudit.counters.read import read_page
from specaudit.counters.windows import Window, window
from specaudit.model.completion import Response
from specaudit.model.entries import SnapshotEntry
from specaudit.model.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class BlockWindow:
    """The window around one block of a stage."""

    block: int
    """Number of the block, from 1."""
    status: str
    """`valid`, `unverified` or `void`."""
    reasons: tuple[str, ...]
    window: Window | None
    """None where a page could not be read."""


def block_windows(evidence: Evidence, stage: str) -> list[BlockWindow]:
    """Return the window around each block of a stage, as the counters and the client's own tokens judge it."""
    snapshots = evidence.snapshots(stage)
    readings = {block: _reading(snapshot) for block, snapshot in snapshots.items()}
    windows: list[BlockWindow] = []
    first = 0
    for number, block in enumerate(evidence.stages[stage].blocks, start=1):
        slots = [slot for slot, planned in enumerate(block, start=first) if planned.arm == "subject"]
        first += len(block)
        if number - 1 in readings and number in readings:
            responses = [evidence.response(stage, slot) for slot in slots]
            windows.append(_block_window(number, readings[number - 1], readings[number], responses))
    return windows


def whole_window(evidence: Evidence, stage: str) -> BlockWindow | None:
    """Return one window over all blocks of a stage but the first; None where its ends were not read.

    Counters that lag behind count for one block what the block before generated: they contradict single windows and
    agree over many. What contradicts even this window is counted wrongly.
    """
    blocks = evidence.stages[stage].blocks
    first = 1 if len(blocks) > 1 else 0
    snapshots = evidence.snapshots(stage)
    if first not in snapshots or len(blocks) not in snapshots:
        return None
    skipped = sum(len(block) for block in blocks[:first])
    slots = [(slot, planned.arm) for slot, planned in enumerate(evidence.stages[stage].slots()) if slot >= skipped]
    responses = [evidence.response(stage, slot) for slot, arm in slots if arm == "subject"]
    return _block_window(len(blocks), _reading(snapshots[first]), _reading(snapshots[len(blocks)]), responses)


def coverage(evidence: Evidence, stage: str) -> Acceptance | None:
    """Return what the counters show of a stage's verification paths; None where they cannot be read or believed."""
    windows = [w.window for w in block_windows(evidence, stage) if w.window is not None]
    return acceptance(windows, confidence=0.99)


def nothing_drafted(evidence: Evidence, stage: str, taken: Acceptance | None) -> str:
    """Say why no draft was seen to be verified in a stage, the end of a sentence; nothing where one was."""
    if evidence.capabilities["subject"].draft_tokens == 0:
        return "the subject decodes plainly, so nothing was drafted"
    if not evidence.capabilities["subject"].counters:
        return "whether drafts were verified cannot be seen without speculation counters"
    if taken is not None:
        return ""
    void = next((window for window in block_windows(evidence, stage) if window.status != "valid"), None)
    return "nothing was drafted" if void is None else f"the counters cannot be believed ({void.reasons[0]})"


def _reading(snapshot: SnapshotEntry) -> Reading | str:
    """The reading on a page, or the reason why there is none."""
    if snapshot.failure is not None:
        return snapshot.failure
    if not snapshot.quiet:
        return "the counters were still moving when the page was read"
    try:
        return read_page(snapshot.page, snapshot.content_type)
    except PageError as error:
        return str(error)


def _block_window(
    number: int, before: Reading | str, after: Reading | str, responses: list[Response | None]
) -> BlockWindow:
    unreadable = tuple(reading for reading in (before, after) if isinstance(reading, str))
    if isinstance(before, str) or isinstance(after, str):
        return BlockWindow(block=number, status="void", reasons=unreadable, window=None)
    answered = [response for response in responses if response is not None]
    if len(answered) < len(responses):
        lost = "an answer was lost in this window, so what it generated is unknown"
        return BlockWindow(block=number, status="void", reasons=(lost,), window=None)
    judged = window(
        before,
        after,
        received_tokens=sum(_generated(response) for response in answered),
        requests=sum(len(response.completions) for response in answered),
    )
    return BlockWindow(block=number, status=judged.status, reasons=judged.reasons, window=judged)


def _generated(response: Response) -> int:
    """Tokens received in a response; as billed only where the engine shows no tokens.

    Bills are no measure of what was generated: llama.cpp (b11549) bills one choice of n.
    """
    tokens = [completion.tokens for completion in response.completions]
    received = [len(found) for found in tokens if found is not None]
    if len(received) < len(tokens) and response.completion_tokens is not None:
        return response.completion_tokens
    return sum(received)
