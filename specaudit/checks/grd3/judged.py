"""How the requests of each case ended in either arm."""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.checks.grd3.cases import PLAIN, STAGE, Case, asked_cases
from specaudit.checks.grd3.endings import Compared, Ending, compare, contradicts, ended_as_asked, shown_eos
from specaudit.checks.greedy.asked import answers
from specaudit.model.completion import Response
from specaudit.model.evidence import Evidence
from specaudit.model.request import Request, Token

_FEWEST = 8
"""Plain completions without any sign of a stop after which a reference is taken to ignore it."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One case: how its requests ended."""

    case: Case
    asked: int
    found: Sequence[tuple[Request, Compared]]
    """Every request that both arms answered."""
    ignored: bool
    """The reference does not heed what was asked, so that nothing can be compared."""

    def count(self, ending: Ending) -> int:
        """Return how many ended so."""
        return sum(compared.ending is ending for _, compared in self.found)


def judged_cases(evidence: Evidence) -> list[Judged]:
    """Return all cases that were asked, in order."""
    plain = {index: answer.completion for index, answer in answers(evidence, PLAIN, "reference").items()}
    eos = shown_eos(plain.values())
    first = {planned.prompt_index: response for _, planned, response in evidence.answered(PLAIN, "reference")}
    found = []
    slot = 0
    for case, block in zip(asked_cases(evidence), evidence.stages[STAGE].blocks, strict=False):
        told: dict[str, dict[int, Response | None]] = {"subject": {}, "reference": {}}
        requests: dict[int, Request] = {}
        for planned in block:
            if evidence.attempts_at(STAGE, slot):  # what was never asked is no loss
                told[planned.arm][planned.prompt_index] = evidence.response(STAGE, slot)
            requests[planned.prompt_index] = planned.request
            slot += 1
        theirs = told["reference"] or {index: first.get(index) for index in told["subject"]}
        found.append(_compared(case, requests, told["subject"], theirs, eos))
    return found


def _compared(
    case: Case,
    requests: dict[int, Request],
    ours: dict[int, Response | None],
    theirs: dict[int, Response | None],
    eos: Token | None,
) -> Judged:
    pairs = [
        (requests[index], mine, plain)
        for index, mine in ours.items()
        if _told(mine) and _told(plain := theirs.get(index)) and mine is not None and plain is not None
    ]
    heeded = [ended_as_asked(request, plain.completions[0]) for request, _, plain in pairs]
    broken = sum(bool(contradicts(request, plain.completions[0], None, eos)) for request, _, plain in pairs)
    by_request = case.stops and case.name != "EOS"
    return Judged(
        case=case,
        asked=len(ours),
        found=[(request, compare(request, mine, plain, eos)) for request, mine, plain in pairs],
        ignored=broken > 0 or (by_request and len(pairs) >= _FEWEST and not any(heeded)),
    )


def _told(response: Response | None) -> bool:
    return response is not None and bool(response.completions) and response.completions[0].tokens is not None
