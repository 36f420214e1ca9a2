"""Continuous batching: requests come at any time, and every step moves those that the scheduler lets run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.accounting import Step
from specaudit.decoding.arrays import IntArray
from specaudit.decoding.block import Block, Executed
from specaudit.decoding.drafters.interface import Drafts, Sequences
from specaudit.decoding.generation import Generation, Submission
from specaudit.decoding.intake import checked, new_rows, rule_numbers
from specaudit.decoding.models.interface import Forward
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.reading import kept, nodes, read
from specaudit.decoding.rules import RuleTable
from specaudit.decoding.scheduler import NOTHING, Plan, Scheduler, Scheduling
from specaudit.decoding.streams import Domain
from specaudit.decoding.writing import append, break_off, mark_read, remember

if TYPE_CHECKING:
    from specaudit.decoding.decoder import SpeculativeDecoder


class DecodingLoop:
    """Requests on their way through a decoder.

    What a request says depends on itself alone: not on when it came, who else is there, how its prompt is cut into
    chunks, whether it was preempted, or whether steps are planned ahead.

    Args:
        decoder: drafts, verifies and trims.
        limits: the limits of the scheduler.
        slots: requests that target and drafter can remember at once.

    Raises:
        ValueError: the token budget does not hold one request's token and drafts.
    """

    def __init__(self, decoder: SpeculativeDecoder, limits: Scheduling, slots: int) -> None:
        width = decoder.draft_tokens
        if limits.token_budget is not None and limits.token_budget <= width:
            raise ValueError(f"token_budget must hold a token and {width} drafts, got {limits.token_budget}")
        self._decoder = decoder
        self._limits = limits
        self._cache = decoder.world.target.cache(slots, tokens=limits.kv_tokens)
        self._drafter = decoder.world.drafter(slots)
        self._scheduler = Scheduler(limits, slots, self._cache, trees=decoder.topology is not None)
        self._batch = decoder.batch()
        self._table = self._new_table()
        self._submissions: dict[int, Submission] = {}
        self._arrived = 0
        self._planned: Plan | None = None

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._batch)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return self._scheduler.waiting

    @property
    def preemptions(self) -> int:
        """How often a request had to give way."""
        return self._scheduler.preemptions

    def add(
        self,
        prompts: IntArray,
        seeds: NDArray[np.integer],
        *,
        max_tokens: int | IntArray,
        parameters: SamplingParameters | Sequence[SamplingParameters] = UNFILTERED,
        stop: StopRules | Sequence[StopRules] = TO_THE_END,
        draft_tokens: int | None = None,
    ) -> int:
        """Submit requests; return the number of the submission.

        Args:
            prompts: tokens `[B, P]`, padded with −1 on the right.
            seeds: seed of each request `[B]`.
            max_tokens: cap on emitted tokens, `[B]` or one for all.
            parameters: how tokens are drawn, by target and drafter; one for each request, or one for all.
            stop: what ends a completion before its cap; one for each request, or one for all.
            draft_tokens: drafts per step at most; the decoder's unless given.

        Raises:
            ValueError: shapes disagree, a token is outside the vocabulary, a cap is below 1, or drafts are negative.
        """
        if draft_tokens is not None and draft_tokens < 0:
            raise ValueError(f"draft_tokens must be at least 0, got {draft_tokens}")
        prompt_lengths, caps = checked(prompts, seeds, max_tokens, self._decoder.world.vocabulary_size)
        if not self._submissions:
            self._table = self._new_table()
        rules = self._table.rules(rule_numbers(self._table, parameters, stop, len(prompts)))
        number = self._arrived
        self._submissions[number] = Submission(len(prompts), int(np.max(max_tokens, initial=0)))
        self._arrived += len(prompts) or 1
        if len(prompts):
            self._scheduler.queue(
                new_rows(
                    submission=number,
                    prompts=prompts,
                    prompt_lengths=prompt_lengths,
                    caps=caps,
                    rules=rules,
                    draft_tokens=self._decoder.draft_tokens,
                    draft_limit=self._decoder.draft_tokens if draft_tokens is None else draft_tokens,
                    drafting=self._decoder.streams(seeds, Domain.DRAFTER),
                    judging=self._decoder.streams(seeds, Domain.VERIFIER),
                )
            )
        return number

    def finished(self, submission: int) -> bool:
        """Whether all requests of a submission have ended."""
        return self._submissions[submission].finished

    def collect(self, submission: int) -> Generation:
        """Hand out the completions of a finished submission, once.

        Raises:
            ValueError: a completion broke off, since its rules left no token to go on with.
        """
        return self._submissions.pop(submission).generation()

    def abort(self, submission: int) -> None:
        """Stop working on a submission that is still there, and forget it."""
        if self._submissions.pop(submission, None) is None:
            return
        self._scheduler.withdraw(submission)
        if self.running and (gone := np.flatnonzero(self._batch.rows.submission == submission)).size:
            self._leave(gone)

    def run(self) -> None:
        """Step until all requests have ended."""
        while self.running or self.waiting:
            self.step()

    def step(self) -> Executed | None:
        """Move every request that the scheduler lets run; tell what happened to those that spoke, if any did."""
        plan = self._planned if self._planned is not None else self._plan(None)
        self._planned = self._plan(plan) if self._limits.asynchronous else None
        return self._execute(plan)

    def _plan(self, in_flight: Plan | None) -> Plan:
        """Plan a step; if one is still in flight, as if each row that speaks in it emitted one token."""
        decoder = self._decoder
        self._scheduler.admit(self._batch, decoder.draft_tokens)
        if not self.running:
            return NOTHING
        rows = self._batch.rows
        if in_flight is None:
            return self._scheduler.plan(rows.arrival, rows.unread, decoder.num_draft(rows, self.running), ~rows.done)
        unread, emitted = rows.unread, rows.output_lengths
        unread[in_flight.rows] = np.where(in_flight.ends, 1, unread[in_flight.rows] - in_flight.tokens)
        emitted[in_flight.rows] += in_flight.ends
        # How many drafts there will be depends on what is not known yet: as many as there may be get a placeholder.
        drafts = decoder.room(rows.cap - emitted)
        drafts = np.where(decoder.undrafted(emitted), 0, drafts)
        return self._scheduler.plan(rows.arrival, unread, drafts, ~rows.done & (emitted < rows.cap))

    def _execute(self, plan: Plan) -> Executed | None:
        """Carry out a plan, and let go whoever has ended."""
        plan = self._with_room(plan)
        executed = self._move(plan) if len(plan.rows) else None
        if executed is not None and (over := np.flatnonzero(self._batch.rows.done)).size:
            self._finish(over)
        return executed

    def _with_room(self, plan: Plan) -> Plan:
        """Make room for the tokens of a plan; whoever gives way leaves it."""
        gone = self._scheduler.make_room(self._batch.rows, plan) if len(plan.rows) else plan.rows
        if not gone.size:
            return plan
        rows = self._batch.rows.take(gone)
        moved = self._leave(gone)
        self._scheduler.preempt(rows)
        return plan.moved(moved)

    def _move(self, plan: Plan) -> Executed | None:
        """Draft, let the target read, verify, emit."""
        decoder, rows = self._decoder, self._batch.rows
        speaking = plan.rows[plan.ends]
        block = self._block(speaking, plan.drafts[plan.ends])
        drafting = rows.drafting.rows(speaking)
        drafts = decoder.draft(self._drafter, block, drafting)
        rows.drafting.put(speaking, drafting)
        computed, count = plan.tokens.copy(), plan.tokens.copy()
        computed[plan.ends] += drafts.count
        forward = read(decoder.world.target, self._cache, rows, plan, drafts, computed, decoder.topology)
        executed = None
        if speaking.size:
            executed = self._judge(speaking, block, drafts, plan.tokens[plan.ends], forward)
            count[plan.ends] = executed.kept
        self._cache.commit(rows.slot[plan.rows], kept(plan, count, executed))
        self._account(plan, computed, count, executed)
        if executed is not None:
            append(rows, speaking, executed)
            rows.draft_length[speaking] = decoder.draft_length.learn(
                rows.draft_length[speaking], executed.drafts.count, executed.accepted, decoder.draft_tokens
            )
        return executed

    def _block(self, speaking: IntArray, reserved: IntArray) -> Block:
        """Look at the rows that speak; they draft no more than room was made for, however many rows have left since."""
        rows = self._batch.rows
        lengths = rows.lengths[speaking]
        features = rows.features[speaking] if rows.features.shape[1] else None
        return Block(
            sequences=Sequences(
                slots=rows.slot[speaking],
                tokens=rows.tokens[speaking, : lengths.max(initial=1)],
                lengths=lengths,
                features=features,
            ),
            prompt_lengths=rows.prompt_lengths[speaking],
            rules=self._table.rules(rows.rules[speaking]),
            grammar=rows.grammar[speaking],
            num_draft=np.minimum(self._decoder.num_draft(rows, self.running)[speaking], reserved),
        )

    def _judge(self, speaking: IntArray, block: Block, drafts: Drafts, tokens: IntArray, forward: Forward) -> Executed:
        """Let the target judge the drafts behind the last of so many new `tokens` `[b]`."""
        decoder, rows = self._decoder, self._batch.rows
        judged = decoder.judged(replace(block, num_draft=drafts.count))
        p = decoder.target(judged, drafts, forward.logits)
        judging = rows.judging.rows(speaking)
        coins = decoder.coins(judging, block)
        rows.judging.put(speaking, judging)
        verified = decoder.verify(judged, drafts, p, coins)
        trimmed = decoder.trim(block, verified, rows.string[speaking])
        if block.rules.constrained:
            trimmed = break_off(rows, speaking, p, verified, trimmed)
        if forward.features is not None:
            drawn = nodes(verified)[np.arange(len(tokens)), trimmed.emitted - 1]
            remember(rows, speaking, forward.features[np.arange(len(tokens)), drawn])
        return Executed(
            arrival=rows.arrival[speaking],
            block=block,
            drafts=drafts,
            p=p,
            coins=coins,
            verified=verified,
            trimmed=trimmed,
            computed=tokens + drafts.count,
            kept=tokens + trimmed.emitted - 1,
        )

    def _account(self, plan: Plan, computed: IntArray, kept: IntArray, executed: Executed | None) -> None:
        """Count a step, and remember how far each row was read."""
        replayed = mark_read(self._batch.rows, plan, kept)
        nothing = plan.rows[:0]
        self._decoder.accounting.record(
            Step(
                drafted=nothing if executed is None else executed.drafts.count,
                verified=nothing if executed is None else executed.verified.n_accepted,
                emitted=nothing if executed is None else executed.trimmed.emitted,
                computed=int(computed.sum()),
                replayed=replayed,
            )
        )

    def _finish(self, over: IntArray) -> None:
        """Hand over rows that have ended; what was planned for them already is computed in vain."""
        if self._planned is not None:
            self._decoder.accounting.waste(self._planned.tokens_for(over))
        rows = self._batch.rows.take(over)
        for number in np.unique(rows.submission).tolist():
            self._submissions[number].take(rows.take(np.flatnonzero(rows.submission == number)))
        self._decoder.accounting.finish(
            stopped=int(rows.stopped.sum()),
            at_length=int((~rows.stopped & ~rows.broken).sum()),
            failed=int(rows.broken.sum()),
            prompt_tokens=int(rows.prompt_lengths.sum()),
        )
        self._leave(over)

    def _leave(self, gone: IntArray) -> IntArray:
        """Take rows out of the batch, and all memory of them; return where the others are now."""
        slots = self._batch.rows.slot[gone]
        self._cache.release(slots)
        self._drafter.release(slots)
        self._scheduler.free(slots)
        moved = self._batch.condense(gone)
        if self._planned is not None:
            self._planned = self._planned.moved(moved)
        return moved

    def _new_table(self) -> RuleTable:
        world = self._decoder.world
        return RuleTable(world.vocabulary_size, eos=world.eos, texts=world.texts)
