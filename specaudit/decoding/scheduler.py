"""Continuous batching: who runs in the next step, how much of it, and who gives way when memory is short."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.batch import PersistentBatch, Rows
from specaudit.decoding.models.interface import Cache


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """The limits of a scheduler; by default there are none.

    Attributes:
        max_requests: most requests that run at once.
        token_budget: most tokens of a step, over all requests; each draft counts as one.
        prefill_chunk: most prompt tokens of one request in a step.
        kv_tokens: room of the target's memory, in tokens over all requests.
        asynchronous: plan the next step before the tokens of this one are known, with placeholders for them.

    Raises:
        ValueError: a limit is below 1.
    """

    max_requests: int | None = None
    token_budget: int | None = None
    prefill_chunk: int | None = None
    kv_tokens: int | None = None
    asynchronous: bool = False

    def __post_init__(self) -> None:
        for name in ("max_requests", "token_budget", "prefill_chunk", "kv_tokens"):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise ValueError(f"{name} must be at least 1, got {limit}")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who runs in a step.

    Attributes:
        rows: rows of the batch `[b]`.
        tokens: known tokens that each reads `[b]`; under asynchronous scheduling some are known only by then.
        drafts: room for drafts behind them `[b]`; 0 for a row that does not come to the end of its tokens.
        ends: whether the row comes to the end of its tokens, and so emits some `[b]`.
    """

    rows: IntArray
    tokens: IntArray
    drafts: IntArray
    ends: BoolArray

    def take(self, index: IntArray | BoolArray) -> "Plan":
        """Select some of the rows."""
        return Plan(rows=self.rows[index], tokens=self.tokens[index], drafts=self.drafts[index], ends=self.ends[index])

    def moved(self, where: IntArray) -> "Plan":
        """Follow the rows to where they are now, −1 for those that left."""
        now = where[self.rows]
        kept = self.take(now >= 0)
        return Plan(rows=now[now >= 0], tokens=kept.tokens, drafts=kept.drafts, ends=kept.ends)

    def tokens_for(self, rows: IntArray) -> int:
        """Count the tokens and drafts that are planned for some rows."""
        mine = np.isin(self.rows, rows)
        return int((self.tokens + self.drafts)[mine].sum())


_NONE = np.empty(0, dtype=np.int64)
NOTHING = Plan(rows=_NONE, tokens=_NONE, drafts=_NONE, ends=np.empty(0, dtype=np.bool_))
"""Nobody runs."""


class Scheduler:
    """Decides who runs, first come first served.

    A request takes part in a step as a whole or waits: it never drafts less because others are there, so that its
    tokens do not depend on them. Only its prompt, which draws nothing, is read in chunks.

    Args:
        limits: the limits to keep.
        slots: requests that target and drafter can remember at once.
        cache: the target's memory.
        trees: whether trees are drafted; a prompt is then read in a step before the first tree's.
    """

    def __init__(self, limits: Scheduling, slots: int, cache: Cache, *, trees: bool = False) -> None:
        self._limits = limits
        self._cache = cache
        self._trees = trees
        # Lowest slot on top.
        self._free = np.arange(slots)[::-1]
        self._queue: list[Rows] = []
        self.preemptions = 0

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return sum(map(len, self._queue))

    def queue(self, rows: Rows) -> None:
        """Put requests at the end of the queue."""
        self._queue.append(rows)

    def admit(self, batch: PersistentBatch, headroom: int) -> None:
        """Let waiting requests run, while there are slots, and memory for their tokens and `headroom` more each.

        Raises:
            ValueError: the first in the queue would not fit even alone.
        """
        if not self._queue or not len(self._free):
            return
        waiting = self._queue[0].join(*self._queue[1:])
        self._queue = [waiting]
        first = waiting.take(slice(len(self._free)))
        slots = self._free[::-1][: len(first)]
        room = self._cache.reserve(slots, first.lengths + 1 + headroom)
        count = int(np.argmin(np.append(room, False)))
        self._cache.release(slots[count:])
        if not count:
            if not len(batch):
                raise ValueError(
                    f"a request of {first.lengths[0]} tokens and {headroom} drafts needs more room than the "
                    f"{self._limits.kv_tokens} tokens of the KV pool; raise kv_tokens"
                )
            return
        admitted = first.take(slice(count))
        admitted.slot[:] = slots[:count]
        batch.append(admitted)
        self._free = self._free[: len(self._free) - count]
        self._queue = [waiting.take(slice(count, None))] if count < len(waiting) else []

    def plan(self, arrival: IntArray, unread: IntArray, drafts: IntArray, runs: BoolArray) -> Plan:
        """Choose who runs, in order of arrival until the token budget is spent.

        Args:
            arrival: rank of each row's arrival `[n]`.
            unread: tokens that each has yet to read when the step begins `[n]`.
            drafts: drafts that each would put behind them, if it comes to their end `[n]`.
            runs: rows that may run `[n]`.
        """
        tokens = unread if self._limits.prefill_chunk is None else np.minimum(unread, self._limits.prefill_chunk)
        if self._trees:
            tokens = np.where((tokens > 1) & (drafts > 0), np.minimum(tokens, unread - 1), tokens)
        ends = tokens == unread
        plan = Plan(rows=np.arange(len(arrival)), tokens=tokens, drafts=np.where(ends, drafts, 0), ends=ends)
        if not runs.all():
            plan = plan.take(runs)
        if self._limits.token_budget is None:
            return plan
        return self._within_budget(plan.take(np.argsort(arrival[plan.rows])), self._limits.token_budget)

    def _within_budget(self, plan: Plan, budget: int) -> Plan:
        """Keep the first rows whose tokens and drafts fit, and as much as fits of the prompt that follows."""
        spent = np.cumsum(plan.tokens + plan.drafts)
        fits = int(np.searchsorted(spent, budget, side="right"))
        kept = plan.take(np.arange(fits))
        left = budget - (int(spent[fits - 1]) if fits else 0)
        # A chunk must leave the last token unread: whoever reads that one emits.
        chunk = min(left, int(plan.tokens[fits]) - 1) if fits < len(plan.rows) else 0
        if chunk < 1:
            return kept
        return Plan(
            rows=plan.rows[: fits + 1],
            tokens=np.append(kept.tokens, chunk),
            drafts=np.append(kept.drafts, 0),
            ends=np.append(kept.ends, False),
        )

    def make_room(self, rows: Rows, plan: Plan) -> IntArray:
        """Reserve memory for a plan; where it is short, the latest arrivals give way.

        Returns:
            Rows that have to leave, ascending.

        Raises:
            ValueError: even alone the oldest request does not fit.
        """
        if self._limits.kv_tokens is None:
            return NOTHING.rows
        order = np.argsort(rows.arrival[plan.rows])
        wanted, count = plan.rows[order], (plan.tokens + plan.drafts)[order]
        latest_first = np.argsort(-rows.arrival)
        for leaving in range(len(rows)):
            gone = latest_first[:leaving]
            self._cache.release(rows.slot[gone])
            runs = ~np.isin(wanted, gone)
            if self._cache.reserve(rows.slot[wanted[runs]], count[runs]).all():
                return np.sort(gone)
        oldest = latest_first[-1]
        raise ValueError(
            f"the {self._limits.kv_tokens} tokens of the KV pool do not hold one request of {rows.lengths[oldest]} "
            "tokens and its drafts; raise kv_tokens"
        )

    def preempt(self, rows: Rows) -> None:
        """Put requests back at the head of the queue, to be read again from the start."""
        self.preemptions += len(rows)
        rows = rows.take(np.argsort(rows.arrival))
        rows.read[:] = 0
        rows.slot[:] = -1
        self._queue.insert(0, rows)

    def free(self, slots: IntArray) -> None:
        """Take slots back; the memory behind them is the caller's to release."""
        self._free = np.concatenate([self._free, slots])

    def withdraw(self, submission: int) -> None:
        """Forget the waiting requests of a submission."""
        kept = [rows.take(np.flatnonzero(rows.submission != submission)) for rows in self._queue]
        self._queue = [rows for rows in kept if len(rows)]
