"""The rules by which windows are judged, each with the sentence that it gives as its reason.

Engines count accepted drafts past a stop token and the token cap, so that `generation = accepted + drafts + U - T` with
U undrafted steps (at least each sequence's prefill token) and at most K tokens T trimmed per sequence; U has no bound,
so the identity holds a window to `generation >= accepted + drafts - K * sequences` only.
"""

from collections.abc import Iterator
from itertools import pairwise

from specaudit.counters.interface import Reading
from specaudit.counters.window import Window

_LARGEST_COUNT = 2**53  # beyond it a float no longer holds every whole number, and differences lose their units

_CLOCK_SECONDS, _CLOCK_SHARE = 5.0, 0.1
"""By how much an uptime may disagree with the client's clock: pages are cached, and clocks are set."""


def not_counts(reading: Reading) -> Iterator[str]:
    """Values that no counter can have."""
    for name, value in _counters(reading).items():
        if not (0 <= value <= _LARGEST_COUNT and value == int(value)):
            yield f"the counter of {name} is {value}, which is no count of things that happened"


def restart_signs(span: Window) -> Iterator[str]:
    """Marks of a restart, also of one whose counters have overtaken their old values."""
    before, after = span.before, span.after
    if span.elapsed is not None and span.elapsed < 0:
        yield f"the later page is {-span.elapsed:,.0f} s older: the scrapes are out of order, or the clock was set back"
    if before.marker != after.marker:
        marks = sorted({str(series) for series, _ in set(before.marker) ^ set(after.marker)})
        others = f" and {len(marks) - 1} more" if len(marks) > 1 else ""
        yield f"the server restarted: {marks[0]}{others} changed"
    yield from _uptime_signs(span)
    earlier, one_life = _counters(before), before.marker == after.marker != ()
    fell = [(name, value) for name, value in _counters(after).items() if value < earlier.get(name, 0)]
    for name, value in fell[:1]:
        others = f", and {len(fell) - 1} more" if len(fell) > 1 else ""
        asked = " although the process is the same: are the scrapes in their order?" if one_life else ""
        yield f"the counters were reset: {name} fell from {earlier[name]:,.0f} to {value:,.0f}{others}{asked}"
    for change, series in (("vanished", before.series - after.series), ("appeared", after.series - before.series)):
        if series:
            yield f"the set of speculation counters changed: {', '.join(map(str, sorted(series)))} {change}"
    # vLLM shows its configuration on some pages and not on others of the same process.
    shown = {series.name for series, _ in before.configuration} & {series.name for series, _ in after.configuration}
    if changed := shown & {series.name for series, _ in before.configuration ^ after.configuration}:
        yield f"the configuration changed: {', '.join(sorted(changed))}"


def _uptime_signs(span: Window) -> Iterator[str]:
    was, now = span.before.uptime, span.after.uptime
    if was is None or now is None:
        return
    if now < was:
        yield f"the server restarted: its uptime fell from {was:,.0f} s to {now:,.0f} s"
    elif span.elapsed is not None:
        missing = span.elapsed - (now - was)
        if missing > max(_CLOCK_SECONDS, _CLOCK_SHARE * span.elapsed):
            yield f"the server restarted: its uptime grew by {now - was:,.0f} s in {span.elapsed:,.0f} s"


def unfit_ends(span: Window) -> Iterator[str]:
    """What makes a reading no end of a window."""
    yield from dict.fromkeys((*span.before.unfit, *span.after.unfit))
    for end, reading in (("start", span.before), ("end", span.after)):
        running, waiting = reading.requests_running or 0, reading.waiting or 0
        if running != 0 or waiting != 0:
            yield (
                f"the server was busy at the {end} of the window: "
                f"{running:,.0f} requests running, {waiting:,.0f} waiting"
            )
        if reading.asleep:
            yield f"the engine was asleep at the {end} of the window"
    if (step := max(span.before.step, span.after.step)) > 1:
        yield (
            f"the page prints its counters with so few digits that they are rounded to {step:,.0f}: "
            "restart the server, or scrape it when it is young"
        )


def foreign_traffic(counted: float | None, received: int | None) -> Iterator[str]:
    """Tokens that the page counted and the client did not receive, or the other way round."""
    if received is None or counted is None or counted == received:
        return
    cause = (
        "somebody else used the server, or not all that it emitted arrived"
        if counted > received
        else "other servers answered, or it counts too few"
    )
    yield f"the server counted {counted:,.0f} emitted tokens and the client received {received:,}: {cause}"


def identities_broken(counts: Window | Reading) -> Iterator[str]:
    """Sums of the speculation counters that contradict each other; what the engine does not count is not held."""
    # Positions tell the depth of a draft; a tree has more tokens than that, so only a declared K bounds them.
    limit = counts.declared_limit if isinstance(counts, Window) else None
    drafts, draft_tokens, accepted = counts.drafts, counts.draft_tokens, counts.accepted
    per_position = counts.accepted_per_position
    if per_position and accepted is not None and sum(per_position) != accepted:
        yield f"the positions add up to {sum(per_position):,.0f} accepted tokens, the total says {accepted:,.0f}"
    steps = () if drafts is None else (drafts,)
    for position, (reached, count) in enumerate(pairwise((*steps, *per_position)), start=1 - len(steps)):
        if count > reached:
            yield f"{count:,.0f} drafts were accepted at position {position} although {reached:,.0f} reached it"
    if accepted is not None and draft_tokens is not None and accepted > draft_tokens:
        yield f"{accepted:,.0f} draft tokens were accepted of {draft_tokens:,.0f} proposed"
    if limit and drafts is not None and draft_tokens is not None and draft_tokens > limit * drafts:
        yield f"{draft_tokens:,.0f} draft tokens in {drafts:,.0f} steps are more than {limit} a step"


def too_few_emitted(span: Window) -> Iterator[str]:
    """Steps that emitted less than they must; only where the client's sequences are all that the server counted."""
    if span.requests is None or not span.draft_limit or not span.reconciled:
        return
    if span.accepted is None or span.drafts is None or span.generation_tokens is None:
        return
    least = span.accepted + span.drafts - span.draft_limit * span.requests
    if span.generation_tokens < least:
        yield (
            f"{span.generation_tokens:,.0f} tokens were emitted, but {span.drafts:,.0f} steps with "
            f"{span.accepted:,.0f} accepted tokens in {span.requests:,} sequences emit at least {least:,.0f}"
        )


def too_few_accepted(span: Window) -> Iterator[str]:
    """Steps that emitted more than their accepted drafts and one token each; of a sequence, prefill emits the first."""
    if span.forwards is None or span.accepted is None or span.generation_tokens is None or span.requests is None:
        return
    most = span.requests + span.forwards + span.accepted
    if span.generation_tokens > most:
        yield (
            f"{span.generation_tokens:,.0f} tokens were emitted, but {span.forwards:,.0f} steps with "
            f"{span.accepted:,.0f} accepted drafts, and prefill, emit at most {most:,.0f}"
        )


def below_floor(span: Window, min_drafts: int) -> Iterator[str]:
    """Too little happened."""
    drafts = span.drafts or 0
    if drafts < min_drafts:
        yield f"{drafts:,.0f} drafts are too few to measure anything; the floor is {min_drafts:,}"


def same_life(span: Window) -> bool:
    """Whether broken sums cannot be those of a restart that nothing marks.

    Such a restart, with counters that overtook their old values, leaves differences of two lives, and these may break
    an inequality. Totals belong to one life: if they too are broken, no restart explains it.
    """
    return _is_marked(span) or bool(span.reconciled) or any(identities_broken(span.after))


def doubts(span: Window) -> Iterator[str]:
    """Why a window that nothing speaks against cannot be vouched for."""
    if not _is_marked(span) and not span.reconciled:
        yield (
            "the page has no process start time and no _created series, and the tokens that the client received are "
            "not known: a restart could have gone unseen"
        )
    if None in (span.before.requests_running, span.after.requests_running) and not span.reconciled:
        yield "the page does not say whether requests were running, so steps may be counted that belong elsewhere"
    if span.after.accepted is not None and not span.after.accepted_per_position:
        yield "the page has no per-position counters to hold the accepted tokens against"


def _is_marked(span: Window) -> bool:
    # An uptime shows a restart that it has overtaken only beside a clock.
    return bool(span.after.marker) or (span.after.uptime is not None and span.elapsed is not None)


def _counters(reading: Reading) -> dict[str, float]:
    counters = {
        "drafts": reading.drafts,
        "draft tokens": reading.draft_tokens,
        "accepted tokens": reading.accepted,
        "generation tokens": reading.generation_tokens,
        "finished requests": reading.requests_finished,
    }
    for position, count in enumerate(reading.accepted_per_position):
        counters[f"accepted tokens at position {position}"] = count
    return {name: count for name, count in counters.items() if count is not None}
