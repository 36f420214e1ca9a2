"""Whether the difference between two readings of counters may be believed.

A window is judged by rules and never repaired: a reset is not clamped to zero, foreign traffic is not subtracted, and
counters of replicas are not added up.
"""

from collections.abc import Sequence
from dataclasses import replace

from specaudit.counters.interface import Reading
from specaudit.counters.rules import (
    below_floor,
    doubts,
    foreign_traffic,
    identities_broken,
    not_counts,
    restart_signs,
    same_life,
    too_few_accepted,
    too_few_emitted,
    unfit_ends,
)
from specaudit.counters.window import Window


def window(
    before: Reading,
    after: Reading,
    received_tokens: int | None = None,
    requests: int | None = None,
    *,
    elapsed: float | None = None,
    declared_limit: int | None = None,
    min_drafts: int = 1,
) -> Window:
    """Judge the difference between two readings of one replica; see `page_windows` for the arguments."""
    (only,) = page_windows(
        (before,),
        (after,),
        received_tokens,
        requests,
        elapsed=elapsed,
        declared_limit=declared_limit,
        min_drafts=min_drafts,
    )
    return only


def page_windows(
    before: Sequence[Reading],
    after: Sequence[Reading],
    received_tokens: int | None = None,
    requests: int | None = None,
    *,
    elapsed: float | None = None,
    declared_limit: int | None = None,
    min_drafts: int = 1,
) -> tuple[Window, ...]:
    """Judge the difference between two readings of a page, for each of its replicas by itself.

    Which replica answered a client is not known: what it received is held against what all of them counted.

    Args:
        before: The earlier readings, one for each replica.
        after: The later readings.
        received_tokens: Tokens that the client received in between, stop tokens included; None if unknown.
        requests: Sequences that the client received in between (each of n choices is one); None if unknown.
        elapsed: Seconds between the two by the client's clock; None if unknown.
        declared_limit: K, the most draft tokens a step can have, as configured; None if that is not known.
        min_drafts: The floor: with fewer drafts a window is void.

    Returns:
        A window for each replica, in the order of `after`; at least one, if there is a reading at both ends.
    """
    alone = len(before) == len(after) == 1
    spans = tuple(
        Window(
            before=start,
            after=end,
            elapsed=elapsed,
            received_tokens=received_tokens if alone else None,
            requests=requests if alone else None,
            reconciled=None,
            declared_limit=declared_limit,
            status="valid",
            reasons=(),
            contradicts=False,
        )
        for start, end in zip(before, after, strict=False)
    )
    was, now = ([reading.replica or "one" for reading in readings] for readings in (before, after))
    if was != now:
        changed = f"the engines on the page were {', '.join(was)} and are {', '.join(now)}"
        return tuple(replace(span, status="void", reasons=(changed,)) for span in spans)
    counts = [span.generation_tokens for span in spans]
    known = [count for count in counts if count is not None]
    counted = sum(known) if len(known) == len(counts) else None
    reconciled = None if received_tokens is None or counted is None else counted == received_tokens
    foreign = tuple(foreign_traffic(counted, received_tokens))
    return tuple(_judged(replace(span, reconciled=reconciled), foreign, min_drafts) for span in spans)


def _judged(span: Window, foreign: tuple[str, ...], min_drafts: int) -> Window:
    if broken := (*not_counts(span.before), *not_counts(span.after)):
        return replace(span, status="void", reasons=broken)
    if disturbed := (*restart_signs(span), *unfit_ends(span)):
        return replace(span, status="void", reasons=disturbed)
    wrong = (*identities_broken(span), *too_few_emitted(span), *too_few_accepted(span))
    if objections := (*foreign, *wrong, *below_floor(span, min_drafts)):
        return replace(span, status="void", reasons=objections, contradicts=bool(wrong) and same_life(span))
    if unsure := tuple(doubts(span)):
        return replace(span, status="unverified", reasons=unsure)
    return span
