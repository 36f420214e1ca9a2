"""A window: two readings of one replica's counters, their difference, and the verdict on it."""

from dataclasses import dataclass
from typing import Literal

from specaudit.counters.interface import Reading

Status = Literal["valid", "unverified", "void"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """Two readings of the same replica, and the verdict on their difference.

    What the engine does not count is None.

    Attributes:
        before: The reading at the start.
        after: The reading at the end.
        elapsed: Seconds between the two by the client's clock; None if unknown.
        received_tokens: Tokens that the client received from the replica in the window, stop tokens included; None if
            unknown, as where several replicas answered.
        requests: Sequences that the client received (each of a request's n choices is one); None if unknown.
        reconciled: Whether all tokens that the page counted are those that the client received; None if these are
            unknown.
        declared_limit: K, the most draft tokens a step can have, as configured; None if that is not known.
        status: `valid`; `void`, if the difference does not measure what the server did; `unverified`, if nothing
            speaks against it but a restart could have gone unseen.
        reasons: Why the window is not valid, one plain sentence each; empty if it is.
        contradicts: The counters contradict themselves although nothing points to a restart or to outside
            disturbance: the counters are wrong, and not just the window.
    """

    before: Reading
    after: Reading
    elapsed: float | None
    received_tokens: int | None
    requests: int | None
    reconciled: bool | None
    declared_limit: int | None
    status: Status
    reasons: tuple[str, ...]
    contradicts: bool

    @property
    def draft_limit(self) -> int:
        """The most draft tokens that a step can accept, as declared or else as the page shows it; 0 if unknown."""
        return self.after.draft_limit if self.declared_limit is None else self.declared_limit

    @property
    def drafts(self) -> float | None:
        """Verification steps with draft tokens in the window."""
        return _difference(self.before.drafts, self.after.drafts)

    @property
    def draft_tokens(self) -> float | None:
        """Draft tokens proposed in the window."""
        return _difference(self.before.draft_tokens, self.after.draft_tokens)

    @property
    def accepted(self) -> float | None:
        """Draft tokens accepted in the window."""
        return _difference(self.before.accepted, self.after.accepted)

    @property
    def accepted_per_position(self) -> tuple[float, ...]:
        """`[K]`, steps of the window that accepted at least i+1 draft tokens."""
        ends = zip(self.before.accepted_per_position, self.after.accepted_per_position, strict=False)
        return tuple(end - start for start, end in ends)

    @property
    def generation_tokens(self) -> float | None:
        """Tokens emitted in the window."""
        return _difference(self.before.generation_tokens, self.after.generation_tokens)

    @property
    def forwards(self) -> float | None:
        """Steps behind prefill that emitted in the window, drafted or not."""
        return _difference(self.before.forwards, self.after.forwards)

    @property
    def sequences(self) -> float | None:
        """Sequences served in the window: as the client says, otherwise as the engine does; None if neither."""
        if self.requests is not None:
            return self.requests
        return _difference(self.before.requests_finished, self.after.requests_finished)


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
