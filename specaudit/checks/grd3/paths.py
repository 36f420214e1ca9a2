"""How often a stop fell inside an accepted block, and a cap inside what would have been one: at least.

A step emits the drafts that it accepts and one token more. With `G = R + A + D + U - T` (U undrafted steps behind the
first token of each of R requests, T tokens cut off behind a stop) `T >= R + A + D - G`, whatever U is: of one request
where answers tell A and D, of a block where counters do. Engines that count what they cut off count more for one stop,
but never more than K+1.

A cap need not cut anything: many engines draft no further than the cap. What tells then is where the cap fell in the
completion that went on: caps are drawn evenly, so that by Hoeffding's inequality at least `N a - sqrt(N ln(1/δ) / 2)`
of N caps fell on a token behind which its block went on, a being the share of such tokens.
"""

from dataclasses import dataclass
from math import ceil, floor, log, sqrt

from specaudit.checks.grd3.cases import STAGE, asked_cases
from specaudit.checks.windows import block_windows
from specaudit.counters.answers import AnswerError, read_answer
from specaudit.counters.window import Window
from specaudit.model.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Paths:
    """How often each path was taken, at least; None where it cannot be seen."""

    stops: int | None
    caps: int | None


def paths(evidence: Evidence, delta: float) -> Paths:
    """Return what counters and answers show of the stage's paths; a count holds with probability 1 - δ."""
    cases = asked_cases(evidence)
    windows: dict[int, list[Window]] = {}
    for one in block_windows(evidence, STAGE):
        if one.window is not None and one.status != "void":
            windows.setdefault(one.block - 1, []).append(one.window)
    cut = {number: _cut(evidence, number, windows.get(number, [])) for number in range(len(cases))}
    stops = [cut[number] for number, case in enumerate(cases) if case.stops]
    seen = [count for count in stops if count is not None]
    places = {case.name: number for number, case in enumerate(cases)}
    caps = _caps(evidence, places["cap"], places.get("EOS ignored"), windows, cut[places["cap"]], delta)
    return Paths(stops=sum(seen) if seen else None, caps=caps)


def _answered(evidence: Evidence, block: int) -> int:
    """How many requests of the subject a block has that were answered."""
    first = sum(map(len, evidence.stages[STAGE].blocks[:block]))
    slots = enumerate(evidence.stages[STAGE].blocks[block], start=first)
    return sum(planned.arm == "subject" and evidence.response(STAGE, slot) is not None for slot, planned in slots)


def _cut(evidence: Evidence, block: int, windows: list[Window]) -> int | None:
    """How many requests of a block were cut short inside a step, at least; None where nothing tells."""
    told = _told_by_answers(evidence, block)
    if told is not None or not windows:
        return told
    accepted, drafts = _sum(windows, "accepted"), _sum(windows, "drafts")
    trimmed = _answered(evidence, block) + accepted + drafts - _sum(windows, "generation_tokens")
    largest = (evidence.capabilities["subject"].draft_tokens or 1) + 1
    return ceil(max(0, trimmed) / largest)


def _told_by_answers(evidence: Evidence, block: int) -> int | None:
    first = sum(map(len, evidence.stages[STAGE].blocks[:block]))
    found: int | None = None
    for slot, planned in enumerate(evidence.stages[STAGE].blocks[block], start=first):
        response = evidence.response(STAGE, slot) if planned.arm == "subject" else None
        if response is None or response.speculation is None or len(response.completions) != 1:
            continue
        try:
            counts = read_answer({"usage": {}, **response.speculation})
        except AnswerError:
            continue
        if counts is None or counts.steps is None or counts.accepted is None:
            continue
        emitted = len(response.completions[0].tokens or ())
        found = (found or 0) + (1 + counts.accepted + counts.steps > emitted)
    return found


def _caps(
    evidence: Evidence, block: int, whole: int | None, windows: dict[int, list[Window]], cut: int | None, delta: float
) -> int | None:
    """How many caps fell inside a block, at least, from the acceptance of the `whole` completions, which went on."""
    if whole is None or whole not in windows:
        return cut
    caps, requests = _answered(evidence, block), _answered(evidence, whole)
    inside = _sum(windows[whole], "accepted") - 2 * requests  # no cap is on the first token or the last
    places = _sum(windows[whole], "generation_tokens") - 2 * requests
    share = max(0, inside) / places if places > 0 else 0.0
    return max(cut or 0, floor(caps * share - sqrt(caps * log(1 / delta) / 2)), 0)


def _sum(windows: list[Window], name: str) -> int:
    return sum(int(getattr(window, name) or 0) for window in windows)
