"""The verifier's length behind answers that count their own speculation."""

from collections.abc import Sequence
from dataclasses import dataclass

from specaudit.counters.answers import AnswerCounts
from specaudit.counters.steps import steps_taken


@dataclass(frozen=True, kw_only=True)
class AnswerLengths:
    """The verifier length over answers, pooled and, as it should not be, as the mean of the answers' own lengths.

    Attributes:
        pooled: `1 + Σaccepted / Σsteps`: every step weighs the same.
        mean_of_answers: The unweighted mean of each answer's length: short answers weigh as much as long ones.
        answers: How many answers had steps.
    """

    pooled: float
    mean_of_answers: float
    answers: int


def lengths(answers: Sequence[AnswerCounts]) -> AnswerLengths | None:
    """Average the verifier length over answers; None if none tells its steps and what they accepted."""
    known = [(counts.steps, counts.accepted) for counts in answers if counts.steps and counts.accepted is not None]
    if not known:
        return None
    steps, accepted = (sum(column) for column in zip(*known, strict=True))
    return AnswerLengths(
        pooled=1 + accepted / steps,
        mean_of_answers=sum(1 + accepted / steps for steps, accepted in known) / len(known),
        answers=len(known),
    )


def verifier_length(counts: AnswerCounts, draft_limit: int) -> tuple[float, float] | None:
    """Return the least and the greatest verifier length behind an answer, `1 + accepted / steps`.

    The two are one where the engine tells its steps. Otherwise the steps lie in an interval, since the last of them
    may have been cut at a stop or cap. None where neither is known, or no step was taken.

    Args:
        counts: What the engine says.
        draft_limit: K, the most draft tokens of a step.

    Raises:
        ValueError: No sequence of steps gives such an answer.
    """
    if counts.accepted is None:
        return None
    if counts.steps is not None:
        least = most = counts.steps
    elif counts.completion_tokens is not None:
        found = steps_taken(counts.completion_tokens, draft_limit, counts.accepted)
        least, most = found.least, found.most
    else:
        return None
    return (1 + counts.accepted / most, 1 + counts.accepted / least) if least else None
