"""An answer as a window: from nothing to what it counts, with one sequence in it and no room for any other."""

from specaudit.counters.answers import AnswerCounts
from specaudit.counters.interface import Reading
from specaudit.counters.window import Window
from specaudit.counters.windows import window


def answer_window(counts: AnswerCounts, received_tokens: int | None) -> Window:
    """Judge what an answer counts by the rules for any window.

    It is valid where its tokens are those that arrived, and unverified where it does not say how many they are.

    Args:
        counts: What the answer counts, for one choice.
        received_tokens: Tokens that arrived with it, stop token included; None if unknown.
    """
    positions = counts.accepted_per_position
    nothing = Reading(
        drafts=None if counts.steps is None else 0.0,
        draft_tokens=None if counts.draft_tokens is None else 0.0,
        accepted=None if counts.accepted is None else 0.0,
        accepted_per_position=(0.0,) * len(positions),
        forwards=None if counts.forwards is None else 0.0,
        draft_limit=len(positions),
        generation_tokens=None if counts.completion_tokens is None else 0.0,
        requests_finished=0.0,
        requests_running=0.0,
        waiting=0.0,
        marker=(),
        series=frozenset(),
    )
    all_of_it = Reading(
        drafts=counts.steps,
        draft_tokens=counts.draft_tokens,
        accepted=counts.accepted,
        accepted_per_position=tuple(map(float, positions)),
        forwards=counts.forwards,
        draft_limit=len(positions),
        generation_tokens=counts.completion_tokens,
        requests_finished=1.0,
        requests_running=0.0,
        waiting=0.0,
        marker=(),
        series=frozenset(),
    )
    return window(nothing, all_of_it, received_tokens, 1, min_drafts=0)
