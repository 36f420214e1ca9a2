"""What GRD3 tells of the cases that it judged."""

from collections.abc import Sequence

from specaudit.checks.grd3.cases import CASES, PLAIN, refused
from specaudit.checks.grd3.endings import Compared, Ending
from specaudit.checks.grd3.judged import Judged
from specaudit.checks.greedy.asked import answers
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Effect, Statistic, View, Witness
from specaudit.model.request import Request


def eos_met(evidence: Evidence) -> int:
    """Return how many plain completions stopped by themselves."""
    return sum(answer.completion.finish_reason == "stop" for answer in answers(evidence, PLAIN, "reference").values())


def not_asked(evidence: Evidence, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Say what was not looked at, and why."""
    notes = []
    for case in CASES:
        if roles := refused(case, evidence):
            does = "refuses" if len(roles) == 1 else "refuse"
            notes.append(f"{case.name}: not asked, since the {' and the '.join(roles)} {does} it")
    for one in judged:
        if one.ignored:
            notes.append(f"{one.case.name}: not compared, since the reference itself does not heed it")
        elif not one.found:
            notes.append(f"{one.case.name}: no plain completion had a place for it, or none was answered")
    if not eos_met(evidence):
        notes.append("no completion came to EOS, so nothing is said of it")
    return tuple(notes)


def view(one: Judged, effect: Effect) -> View:
    """Return a case as it stands in the finding."""
    return View(
        name=one.case.name,
        samples=len(one.found),
        law="sampled",
        effect=effect,
        statistic=Statistic(name="wrong ends", value=float(one.count(Ending.WRONG))),
    )


def witness(request: Request, compared: Compared) -> Witness:
    """Return a request that ended otherwise."""
    prompt = request.prompt if isinstance(request.prompt, str) else " ".join(map(str, request.prompt))
    said = [
        f"{name} {value!r}"
        for name, value in (
            ("max_tokens", request.max_tokens),
            ("stop_token_ids", list(request.stop_token_ids)),
            ("stop", list(request.stop)),
            ("min_tokens", request.min_tokens),
        )
        if value
    ]
    return Witness(
        what=f"after prompt {prompt!r} with {', '.join(said)} the subject {compared.why}",
        observed=None,
        expected=None,
        unit="",
    )
