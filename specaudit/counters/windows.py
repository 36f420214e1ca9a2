"""What happened between two readings of one server's counters, and whether the difference may be believed.

A window is judged by the rules below and never repaired: a reset is not clamped to zero, foreign traffic is not
subtracted. Engines count accepted drafts past a stop token and the token cap, so that
`generation = accepted + drafts + U - T` with U undrafted steps (at least each sequence's prefill token) and at most
K tokens T trimmed per sequence; U has no bound, so the identity holds a window to
`generation >= accepted + drafts - K * sequences` only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from specaudit.counters.interface import Reading

Status = Literal["valid", "unverified", "void"]

_LARGEST_COUNT = 2**53  # beyond it a float no longer holds every whole number, and differences lose their units


@dataclass(frozen=True, kw_only=True)
class Window:
    """Two readings of the same server, and the verdict on their difference.

    Attributes:
        before: The reading at the start.
        after: The reading at the end.
        received_tokens: Tokens that the client received in the window, stop tokens included; None if unknown.
        requests: Sequences that the client received (each of a request's n choices is one); None if unknown.
        draft_tokens_limit: K, the most draft tokens a step can have; 0 if neither declared nor shown by the page.
        status: `valid`; `void`, if the difference does not measure what the server did; `unverified`, if nothing
            speaks against it but a restart could have gone unseen.
        reasons: Why the window is not valid, one plain sentence each; empty if it is.
        contradicts: The counters contradict themselves although nothing points to a restart or to outside
            disturbance: the counters are wrong, and not just the window.
    """

    before: Reading
    after: Reading
    received_tokens: int | None
    requests: int | None
    draft_tokens_limit: int
    status: Status
    reasons: tuple[str, ...]
    contradicts: bool

    @property
    def drafts(self) -> float:
        """Verification steps with draft tokens in the window."""
        return self.after.drafts - self.before.drafts

    @property
    def draft_tokens(self) -> float:
        """Draft tokens proposed in the window."""
        return self.after.draft_tokens - self.before.draft_tokens

    @property
    def accepted(self) -> float:
        """Draft tokens accepted in the window."""
        return self.after.accepted - self.before.accepted

    @property
    def accepted_per_position(self) -> tuple[float, ...]:
        """`[K]`, steps of the window that accepted at least i+1 draft tokens."""
        ends = zip(self.before.accepted_per_position, self.after.accepted_per_position, strict=False)
        return tuple(end - start for start, end in ends)

    @property
    def generation_tokens(self) -> float:
        """Tokens emitted in the window."""
        return self.after.generation_tokens - self.before.generation_tokens

    @property
    def sequences(self) -> float | None:
        """Sequences served in the window: as the client says, otherwise as the engine does; None if neither."""
        if self.requests is not None:
            return self.requests
        if self.before.requests_finished is None or self.after.requests_finished is None:
            return None
        return self.after.requests_finished - self.before.requests_finished


def window(
    before: Reading,
    after: Reading,
    received_tokens: int | None = None,
    requests: int | None = None,
    draft_tokens_limit: int | None = None,
    min_drafts: int = 1,
) -> Window:
    """Judge the difference between two readings of one server.

    Args:
        before: The earlier reading.
        after: The later reading.
        received_tokens: Tokens that the client received in between, stop tokens included; None if unknown.
        requests: Sequences that the client received in between (each of n choices is one); None if unknown.
        draft_tokens_limit: K as configured; by default the number of draft positions on the page.
        min_drafts: The floor: with fewer drafts the window is void.
    """
    limit = len(after.accepted_per_position) if draft_tokens_limit is None else draft_tokens_limit
    span = Window(
        before=before,
        after=after,
        received_tokens=received_tokens,
        requests=requests,
        draft_tokens_limit=limit,
        status="valid",
        reasons=(),
        contradicts=False,
    )
    if broken := (*_not_counts(before), *_not_counts(after)):
        return replace(span, status="void", reasons=broken)
    if disturbed := (*_restart_signs(before, after), *_unfit_ends(before, after)):
        return replace(span, status="void", reasons=disturbed)
    wrong = (*_identities_broken(span, limit), *_too_few_emitted(span))
    if objections := (*_foreign_traffic(span), *wrong, *_below_floor(span, min_drafts)):
        return replace(span, status="void", reasons=objections, contradicts=bool(wrong) and _same_life(span))
    if doubts := tuple(_doubts(span)):
        return replace(span, status="unverified", reasons=doubts)
    return span


def _counters(reading: Reading) -> dict[str, float]:
    counters = {
        "drafts": reading.drafts,
        "draft tokens": reading.draft_tokens,
        "accepted tokens": reading.accepted,
        "generation tokens": reading.generation_tokens,
    }
    if reading.requests_finished is not None:
        counters["finished requests"] = reading.requests_finished
    for position, count in enumerate(reading.accepted_per_position):
        counters[f"accepted tokens at position {position}"] = count
    return counters


def _not_counts(reading: Reading) -> Iterator[str]:
    for name, value in _counters(reading).items():
        if not (0 <= value <= _LARGEST_COUNT and value == int(value)):
            yield f"the counter of {name} is {value}, which is no count of things that happened"


def _restart_signs(before: Reading, after: Reading) -> Iterator[str]:
    if before.marker != after.marker:
        changed = sorted({str(series) for series, _ in set(before.marker) ^ set(after.marker)})
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the server restarted: {changed[0]}{others} changed"
    earlier = _counters(before)
    for name, value in _counters(after).items():
        if value < earlier.get(name, 0):
            yield f"the counters were reset: {name} fell from {earlier[name]:,.0f} to {value:,.0f}"
    for change, series in (("vanished", before.series - after.series), ("appeared", after.series - before.series)):
        if series:
            yield f"the set of speculation counters changed: {', '.join(map(str, sorted(series)))} {change}"


def _unfit_ends(before: Reading, after: Reading) -> Iterator[str]:
    for end, reading in (("start", before), ("end", after)):
        if reading.requests_running != 0 or reading.waiting != 0:
            yield (
                f"the server was busy at the {end} of the window: "
                f"{reading.requests_running:,.0f} requests running, {reading.waiting:,.0f} waiting"
            )
        if reading.asleep:
            yield f"the engine was asleep at the {end} of the window"
    if (step := max(before.step, after.step)) > 1:
        yield (
            f"the page prints its counters with so few digits that they are rounded to {step:,.0f}: "
            "restart the server, or scrape it when it is young"
        )
    if (replicas := max(before.replicas, after.replicas)) > 1:
        yield f"{replicas} engines share the page: counters of replicas are never added up"


def _reconciles(span: Window) -> bool:
    return span.received_tokens == span.generation_tokens


def _foreign_traffic(span: Window) -> Iterator[str]:
    counted, received = span.generation_tokens, span.received_tokens
    if received is None or _reconciles(span):
        return
    cause = "somebody else used the server" if counted > received else "other servers answered, or it counts too few"
    yield f"the server counted {counted:,.0f} emitted tokens and the client received {received:,}: {cause}"


def _identities_broken(counts: Window | Reading, limit: int) -> Iterator[str]:
    per_position = counts.accepted_per_position
    if per_position and sum(per_position) != counts.accepted:
        yield f"the positions add up to {sum(per_position):,.0f} accepted tokens, the total says {counts.accepted:,.0f}"
    for position, (reached, accepted) in enumerate(pairwise((counts.drafts, *per_position))):
        if accepted > reached:
            yield f"{accepted:,.0f} drafts were accepted at position {position} although {reached:,.0f} reached it"
    if counts.accepted > counts.draft_tokens:
        yield f"{counts.accepted:,.0f} draft tokens were accepted of {counts.draft_tokens:,.0f} proposed"
    if limit and counts.draft_tokens > limit * counts.drafts:
        yield f"{counts.draft_tokens:,.0f} draft tokens in {counts.drafts:,.0f} steps are more than {limit} a step"


def _too_few_emitted(span: Window) -> Iterator[str]:
    # Only where the client's sequences are known to be all that the server counted.
    if span.requests is None or not span.draft_tokens_limit or not _reconciles(span):
        return
    least = span.accepted + span.drafts - span.draft_tokens_limit * span.requests
    if span.generation_tokens < least:
        yield (
            f"{span.generation_tokens:,.0f} tokens were emitted, but {span.drafts:,.0f} steps with "
            f"{span.accepted:,.0f} accepted tokens in {span.requests:,} sequences emit at least {least:,.0f}"
        )


def _below_floor(span: Window, min_drafts: int) -> Iterator[str]:
    if span.drafts < min_drafts:
        yield f"{span.drafts:,.0f} drafts are too few to measure anything; the floor is {min_drafts:,}"


def _same_life(span: Window) -> bool:
    # Without a marker, a restart whose counters overtook their old values leaves differences of two lives, and these
    # may break an inequality. Totals belong to one life: if they too are broken, no restart explains it.
    return bool(span.after.marker) or _reconciles(span) or any(_identities_broken(span.after, span.draft_tokens_limit))


def _doubts(span: Window) -> Iterator[str]:
    if not span.after.marker and span.received_tokens is None:
        yield (
            "the page has no process start time and no _created series, and the tokens that the client received are "
            "not known: a restart could have gone unseen"
        )
    if not span.after.accepted_per_position:
        yield "the page has no per-position counters to hold the accepted tokens against"
