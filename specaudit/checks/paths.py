"""How often each verification path was taken, and by which path each token came.

An engine in process tells every step of every completion. Over HTTP some answers tell theirs, and else counters tell
sums; what neither tells is said to be unseen. The path of a token is settled before it is drawn: at which position of
its step it stands, how many drafts the step has, and whether the step before rejected one. Whether the token was
accepted is no path: accepted tokens do not have the target's law even where everything is right.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from specaudit.checks.windows import missing_path, paths_taken
from specaudit.counters.acceptance import Acceptance
from specaudit.counters.answers import AnswerError, read_answer
from specaudit.model.completion import Completion, Response, Steps
from specaudit.model.evidence import Evidence

BONUS = "bonus row"
UNDRAFTED = "undrafted step"
AFTER_REJECTION = "first token after a step that rejected"

_REJECTED, _DRAWN = "steps that rejected a draft", "bonus tokens drawn"

_PREFILL_FIRST = ("vllm", "llamacpp")
"""Engines whose answers list the steps behind a first token that was not drafted."""

_FROM_TRACE = (
    "undrafted steps",
    "steps after one that rejected",
    "steps in a ragged batch",
    "stops inside an accepted block",
    "caps inside a block",
    "steps beside other sampling parameters",
)


def position(number: int) -> str:
    """Name the path of the token at a position of a step, from 1, whether its draft was accepted or replaced."""
    return f"step position {number}"


def labels(steps: Steps) -> list[str]:
    """Return the path by which each emitted token of a completion came."""
    return [
        UNDRAFTED if not drafted else position(place + 1) if place < drafted else BONUS
        for drafted, emitted in zip(steps.drafted, steps.emitted, strict=True)
        for place in range(emitted)
    ]


def after_rejections(steps: Steps) -> list[bool]:
    """Say of each emitted token whether it is the first after a step that rejected a draft."""
    rejected = [False, *(taken < drafted for drafted, taken in zip(steps.drafted, steps.accepted, strict=True))]
    return [
        before and place == 0
        for before, emitted in zip(rejected[:-1], steps.emitted, strict=True)
        for place in range(emitted)
    ]


def steps_of(response: Response, place: int) -> Steps | None:
    """Return the steps of a choice, as the engine tells them; None where it does not, or contradicts itself.

    vLLM and llama.cpp list the steps of an answer with one choice; the first token comes from prefill before them, and
    what the last step emitted is what is left. Of others it is not known whether their first step drafts.
    """
    completion = response.completions[place]
    if completion.steps is not None:
        return completion.steps if sum(completion.steps.emitted) == len(completion.tokens or ()) else None
    if response.speculation is None or len(response.completions) > 1 or not completion.tokens:
        return None
    try:
        told = read_answer(response.speculation)
    except AnswerError:
        return None
    if told is None or told.drafted_per_step is None or told.accepted_per_step is None:
        return None
    if told.engine not in _PREFILL_FIRST:
        return None
    return _laid_out(told.drafted_per_step, told.accepted_per_step, len(completion.tokens))


def _laid_out(drafted: Sequence[int], accepted: Sequence[int], tokens: int) -> Steps | None:
    """Steps behind an undrafted first one; None where they do not make up the completion."""
    emitted = [1, *(taken + 1 for taken in accepted)]
    over = sum(emitted) - tokens
    if over < 0 or over >= emitted[-1]:
        return None
    emitted[-1] -= over
    taken = [0, *accepted]
    taken[-1] = min(taken[-1], emitted[-1])
    return Steps(drafted=(0, *drafted), accepted=tuple(taken), emitted=tuple(emitted), ragged=0, mixed=0)


@dataclass(kw_only=True)
class _Traced:
    """Paths of completions whose steps are told."""

    reached: dict[int, int]
    counts: dict[str, int]
    batches: bool = True
    """It is told beside which others each step ran."""


def path_counts(evidence: Evidence, stages: Sequence[str], taken: Acceptance | None) -> dict[str, int | None]:
    """Return how often each verification path was taken in the stages, at least; None where it cannot be seen.

    Args:
        evidence: All of it.
        stages: Their names.
        taken: What counters show of the same stages.
    """
    responses = [r for stage in stages for _, _, r in evidence.answered(stage, "subject") if r is not None]
    traced = _traced(responses)
    # Counters tell how often at least, steps how often.
    counted = {name: count if traced is None else traced.counts[name] for name, count in paths_taken(taken).items()}
    told = {name: None if traced is None else traced.counts.get(name) for name in _FROM_TRACE}
    if traced is not None and not traced.batches:
        told |= dict.fromkeys(("steps in a ragged batch", "steps beside other sampling parameters"), None)
    several = sum(len(response.completions) > 1 for response in responses)
    return {**counted, **_positions(traced, taken), **told, "requests for several choices": several}


def missing(evidence: Evidence, stages: Sequence[str], taken: Acceptance | None, paths: dict[str, int | None]) -> str:
    """Name the path without which a bounded law says nothing of the verifier; nothing where none lacks.

    Counters come first. Where there are none, what answers tell of themselves is as good.
    """
    reason = missing_path(evidence, stages, taken)
    if reason and not evidence.capabilities["subject"].counters and paths[_REJECTED] is not None:
        if not paths["drafted steps"]:
            return "nothing was drafted"
        if not paths[_REJECTED]:
            return "no draft was rejected"
        return "" if paths[_DRAWN] else "no bonus token was drawn"
    return reason


def _traced(responses: Iterable[Response]) -> _Traced | None:
    """Count what steps tell; None where any completion with tokens does not tell them."""
    found = _Traced(reached={}, counts=dict.fromkeys((_REJECTED, _DRAWN, "drafted steps", *_FROM_TRACE), 0))
    seen = False
    for response in responses:
        for place, completion in enumerate(response.completions):
            if not completion.tokens:
                continue
            steps = steps_of(response, place)
            if steps is None:
                return None
            seen = True
            found.batches = found.batches and completion.steps is not None
            for name, count in _of_steps(completion, steps):
                found.counts[name] += count
            for drafted, taken in zip(steps.drafted, steps.accepted, strict=True):
                for i in range(1, min(drafted, taken + 1) + 1):
                    found.reached[i] = found.reached.get(i, 0) + 1
    return found if seen else None


def _of_steps(completion: Completion, steps: Steps) -> Iterator[tuple[str, int]]:
    """What one completion adds to each path."""
    told = list(zip(steps.drafted, steps.accepted, steps.emitted, strict=True))
    cut = bool(told) and told[-1][0] > 0 and told[-1][2] <= told[-1][1]
    # A step that was cut rejected nothing that is known of.
    uncut = told[:-1] if cut else told
    yield _REJECTED, sum(taken < drafted for drafted, taken, _ in uncut)
    yield _DRAWN, sum(0 < drafted == taken for drafted, taken, _ in uncut)
    yield "drafted steps", sum(drafted > 0 for drafted, _, _ in told)
    yield "undrafted steps", sum(not drafted for drafted, _, _ in told)
    yield "steps after one that rejected", sum(after_rejections(steps))
    yield "steps in a ragged batch", steps.ragged
    yield "steps beside other sampling parameters", steps.mixed
    yield "stops inside an accepted block", int(cut and completion.finish_reason == "stop")
    yield "caps inside a block", int(cut and completion.finish_reason == "length")


def _positions(traced: _Traced | None, taken: Acceptance | None) -> dict[str, int | None]:
    """How many steps reached each position, as steps or counters tell: what accepted i drafts reached position i+1."""
    if traced is not None:
        most = max(traced.reached, default=0)
        return {f"{position(i)} reached": traced.reached.get(i, 0) for i in range(1, most + 1)}
    if taken is None or not taken.per_position:
        return {}
    accepted = [round(one.value * taken.drafts) for one in taken.per_position[:-1]]
    return {f"{position(i)} reached": count for i, count in enumerate([taken.drafts, *accepted], start=1)}
