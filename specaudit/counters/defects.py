"""Defects of counters that were seen in public, recognised by name in windows and answers.

Some make the counters wrong, others only make a window void or a figure differ from what its reader expects. A name
says what the numbers look like; more than one cause can look alike, and the sentence beside it says what is certain.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Literal

from specaudit.counters.answer_lengths import lengths
from specaudit.counters.answers import AnswerCounts
from specaudit.counters.rules import identities_broken, too_few_accepted, too_few_emitted
from specaudit.counters.window import Window

Meaning = Literal["wrong", "void", "bias"]

_RARE_NATS = 21.0
"""Steps that all reject are a defect where that would happen once in a billion: e^-21."""

_FEW = 5
"""Sequences that may all reject for reasons of their own, as a greedy one does that runs in a circle: the steps of one
sequence are no independent trials."""

_SHORT_DRAFTS = 2
"""Drafts per sequence that the cap may cut short, and that are followed by a bonus token nevertheless."""

_NEARLY_WHOLE = 0.2
"""By how much a ratio of two ranks' counts may differ from a whole number."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A defect and what shows it.

    Attributes:
        name: Its stable name.
        meaning: `wrong`, if counters count something else than they say; `void`, if the window measures nothing;
            `bias`, if a figure made of them differs from what its reader expects.
        what: What the numbers show, in a sentence.
    """

    name: str
    meaning: Meaning
    what: str


def defects_in(window: Window, answers: Sequence[AnswerCounts] = ()) -> tuple[Defect, ...]:
    """Name the defects that a window shows.

    Args:
        window: The window, whatever its status.
        answers: What the engine said in the answers of the window, if they are all of them.
    """
    alone = [defect for recognise in _IN_A_WINDOW for defect in recognise(window)]
    return (*alone, *_unheard_trimming(window, answers), *_forbidden_in(answers))


def defects_among(windows: Sequence[Window]) -> tuple[Defect, ...]:
    """Name the defects that windows show beside each other."""
    return tuple(_past_the_drafters_limit(windows))


def defects_between(ours: Sequence[AnswerCounts], theirs: Sequence[AnswerCounts]) -> tuple[Defect, ...]:
    """Name the defects of comparing two servers by the answers of each."""
    one, other = lengths(ours), lengths(theirs)
    if one is None or other is None:
        return ()
    if (one.pooled - other.pooled) * (one.mean_of_answers - other.mean_of_answers) >= 0:
        return ()
    what = (
        f"by the mean of their answers the lengths are {one.mean_of_answers:.3f} and {other.mean_of_answers:.3f}, over "
        f"all steps {one.pooled:.3f} and {other.pooled:.3f}: the mean of answers turns the comparison round"
    )
    return (Defect(name="mean-of-answers", meaning="bias", what=what),)


def _counted_past_the_end(window: Window) -> Iterator[Defect]:
    surplus = _surplus(window)
    if surplus is None or surplus <= 0 or window.status == "void":
        return
    drafts, accepted = window.drafts or 0, window.accepted or 0
    emitted = drafts + accepted - surplus
    yield Defect(
        name="counted-past-the-end",
        meaning="bias",
        what=f"{surplus:,.0f} tokens were counted as accepted and cut off at a stop or cap, or more: the verifier's "
        f"length is {1 + accepted / drafts:.3f}, what arrived at most {emitted / drafts:.3f} per step",
    )


def _padded_drafts(window: Window) -> Iterator[Defect]:
    drafts, generation, sequences = window.drafts, window.generation_tokens, window.sequences
    if drafts is None or generation is None or sequences is None or not _undisturbed(window):
        return
    possible = generation - sequences
    if drafts > possible:
        yield Defect(
            name="padded-drafts",
            meaning="wrong",
            what=f"{drafts:,.0f} steps are counted as drafted and at most {possible:,.0f} can have been, as each emits "
            "a token and a sequence's first comes from prefill: steps without drafts count as rejected ones",
        )


def _forbidden_drafts(window: Window) -> Iterator[Defect]:
    drafts, tokens = window.drafts, window.draft_tokens
    if drafts is not None and tokens is not None and tokens < drafts and _undisturbed(window):
        yield Defect(
            name="empty-drafts",
            meaning="wrong",
            what=f"{drafts:,.0f} drafts had {tokens:,.0f} tokens, so {drafts - tokens:,.0f} or more had none: drafts "
            "that a grammar forbade whole still count",
        )


def _wrong_sums(window: Window) -> Iterator[Defect]:
    """Accepted tokens that disagree with their positions, or with what was emitted."""
    accepted, positions = window.accepted, window.accepted_per_position
    if accepted is None or not _undisturbed(window):
        return
    excess = accepted - sum(positions) if positions else 0
    if excess < 0:
        yield Defect(
            name="positions-beyond-the-total",
            meaning="wrong",
            what=f"the positions hold {sum(positions):,.0f} accepted tokens, the total {accepted:,.0f}",
        )
    elif excess and _positions_are_wrong(window, excess):
        yield Defect(
            name="positions-of-one-rank",
            meaning="wrong",
            what=f"the positions hold {sum(positions):,.0f} of {accepted:,.0f} accepted tokens"
            f"{_factor(accepted, sum(positions))}: those of other ranks are overwritten",
        )
    elif excess and 0 <= excess - positions[-1] <= _SHORT_DRAFTS * (window.sequences or 0):
        yield Defect(
            name="bonus-counted",
            meaning="wrong",
            what=f"{excess:,.0f} tokens more are accepted than the positions hold, about as many as steps accepted all "
            "drafts: the bonus token counts as a draft",
        )
    elif excess or any(too_few_emitted(window)):
        more = f", {excess:,.0f} more than the positions hold" if excess else ", more than were emitted and cut off"
        yield Defect(
            name="replayed-tokens",
            meaning="wrong",
            what=f"{accepted:,.0f} drafts count as accepted{more}: tokens that are read again count as accepted, or "
            "tokens are lost behind drafts",
        )


def _uncounted(window: Window) -> Iterator[Defect]:
    """Accepted tokens that were emitted and not counted."""
    for what in too_few_accepted(window):
        yield Defect(name="accepted-uncounted", meaning="wrong", what=f"{what}: accepted drafts are left out")


def _positions_are_wrong(window: Window, excess: float) -> bool:
    """Whether what was emitted speaks for the total of accepted tokens, and against their positions."""
    surplus = _surplus(window)
    return surplus is None or abs(surplus) <= abs(surplus - excess)


def _one_rank_only(window: Window) -> Iterator[Defect]:
    received, counted = window.received_tokens, window.generation_tokens
    if received is None or not counted or received < 1.5 * counted or _is_restart(window):
        return
    yield Defect(
        name="one-rank-only",
        meaning="void",
        what=f"the client received {received:,} tokens and the page counted {counted:,.0f}"
        f"{_factor(received, counted)}: it shows one rank, or one replica, of several",
    )


def _resets(window: Window) -> Iterator[Defect]:
    if not _is_restart(window):
        return
    fell = [
        (name, count)
        for name, count in (("drafts", window.drafts), ("accepted tokens", window.accepted))
        if count is not None and count < 0
    ]
    if fell:
        name, count = fell[0]
        yield Defect(
            name="reset",
            meaning="void",
            what=f"a tool that subtracts the pages finds {count:,.0f} {name} here, one that clamps at zero none: the "
            "counters were reset in between",
        )
    elif window.drafts:
        yield Defect(
            name="overtaken-reset",
            meaning="void",
            what="the counters were reset and have overtaken their old values: no decrease shows it, and a tool that "
            f"looks for one finds {window.drafts:,.0f} drafts that never were",
        )


def _unheard_trimming(window: Window, answers: Sequence[AnswerCounts]) -> Iterator[Defect]:
    told = [counts.draft_tokens for counts in answers if counts.draft_tokens is not None]
    complete = bool(told) and len(told) == len(answers) == window.sequences
    if complete and window.draft_tokens is not None and window.draft_tokens > sum(told) and _undisturbed(window):
        yield Defect(
            name="unheard-trimming",
            meaning="wrong",
            what=f"the counters have {window.draft_tokens:,.0f} draft tokens and the answers {sum(told):,}: drafts "
            "were trimmed after they had been counted, or padding counts",
        )


def _forbidden_in(answers: Sequence[AnswerCounts]) -> Iterator[Defect]:
    empty = sum(counts.drafted_per_step.count(0) for counts in answers if counts.drafted_per_step is not None)
    if empty:
        what = f"{empty:,} steps of the answers had no draft token and count as drafted: a grammar forbade all of them"
        yield Defect(name="empty-drafts", meaning="wrong", what=what)


def _past_the_drafters_limit(windows: Sequence[Window]) -> Iterator[Defect]:
    """Windows that accept nothing at all, beside others that do."""
    measured = [(window, window.drafts or 0, window.accepted or 0) for window in windows if window.status == "valid"]
    accepting = sum(_accepting_steps(window) for window, _, accepted in measured if accepted > 0)
    drafts_there = sum(drafts for _, drafts, accepted in measured if accepted > 0)
    if not accepting:
        return
    share = min(accepting / drafts_there, 1 - 1e-9)
    for window, drafts, accepted in measured:
        if accepted == 0 and (window.sequences or 0) >= _FEW and -drafts * log1p(-share) > _RARE_NATS:
            yield Defect(
                name="past-the-drafters-limit",
                meaning="wrong",
                what=f"none of {window.draft_tokens or drafts:,.0f} draft tokens was accepted in a window, where "
                f"{share:.0%} of the steps accept one in others: beyond the drafter's limit padding counts as drafts",
            )
            return


_IN_A_WINDOW: tuple[Callable[[Window], Iterator[Defect]], ...] = (
    _counted_past_the_end,
    _padded_drafts,
    _forbidden_drafts,
    _wrong_sums,
    _uncounted,
    _one_rank_only,
    _resets,
)


def _surplus(window: Window) -> float | None:
    """`T - (U - sequences)`: at least so many counted tokens were trimmed; None where something is not counted."""
    parts = window.drafts, window.accepted, window.generation_tokens, window.sequences
    if not window.drafts or None in parts:
        return None
    drafts, accepted, generation, sequences = (part or 0 for part in parts)
    return drafts + accepted + sequences - generation


def _accepting_steps(window: Window) -> float:
    return (
        window.accepted_per_position[0]
        if window.accepted_per_position
        else min(window.drafts or 0, window.accepted or 0)
    )


def _is_restart(window: Window) -> bool:
    """Whether the window holds a restart, as marks, decreases or broken sums show it."""
    if window.before.marker != window.after.marker:
        return True
    counts = (window.drafts, window.draft_tokens, window.accepted, window.generation_tokens)
    if any(count is not None and count < 0 for count in counts):
        return True
    # Totals that agree and a difference that does not: two lives, of which nothing marks the second.
    broken = any(identities_broken(window)) and not any(identities_broken(window.after))
    return broken and not window.after.marker and not window.reconciled


def _undisturbed(window: Window) -> bool:
    return window.status != "void" or (window.contradicts and not _is_restart(window))


def _factor(larger: float, smaller: float) -> str:
    ratio = larger / smaller if smaller else 0.0
    near = round(ratio)
    return f", {near} times as many" if near >= 2 and abs(ratio - near) <= _NEARLY_WHOLE else ""
