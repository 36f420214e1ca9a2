"""A speculative decoder: draft, verify, emit, stop; each of them one method."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.accounting import Accounting, Counters
from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.batch import PersistentBatch, Rows
from specaudit.decoding.block import Block
from specaudit.decoding.draft_length import DraftLength, FixedLength
from specaudit.decoding.drafters.interface import Drafter, Drafts
from specaudit.decoding.filters import log_softmax
from specaudit.decoding.generation import Generation
from specaudit.decoding.loop import DecodingLoop
from specaudit.decoding.models.interface import BOS
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED, SamplingParameters, StopRules
from specaudit.decoding.processors import Processors
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.stopping import Stopping, Trimmed
from specaudit.decoding.streams import Dealt, Domain, RowStreams
from specaudit.decoding.tree.verify import GreedyTreeVerifier, TreeVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import World

FirstToken = Literal["prefill", "drafted"]


class SpeculativeDecoder:
    """A target that answers requests, sped up by a drafter; with `draft_tokens=0`, plain decoding.

    What it does to the rows of a step is a method each, and what it does them with an argument, so that a fault is
    a subclass that overrides one method.

    Args:
        world: the target and what speculates for it.
        draft_tokens: drafts per step `K`, in a tree nodes; fewer where the cap is nearer.
        first_token: `prefill` draws a request's first token undrafted, as deployed engines do, since
            prefill yields the target's law there anyway; `drafted` speculates from the first token on.
        draft_length: how many of the `K` drafts a step makes.
        verifier: verification when sampling; by default the exact one.
        greedy_verifier: verification at temperature 0; by default the exact one.
        processors: what makes the target's laws of its logits.
        draft_processors: what makes the drafter's laws of its logits.
        stopping: what cuts verified blocks where a completion ends.
        batch: makes the persistent batch of a loop.
        limits: the limits of its loops, unless they are given others.
        accounting: makes the keeper of the counters, given `K`.

    Raises:
        ValueError: `draft_tokens` is negative or more than a tree has, or `first_token` is neither of the two.
    """

    def __init__(
        self,
        world: World,
        *,
        draft_tokens: int = 3,
        first_token: FirstToken = "prefill",
        draft_length: DraftLength | None = None,
        verifier: ChainVerifier | TreeVerifier | None = None,
        greedy_verifier: GreedyVerifier | GreedyTreeVerifier | None = None,
        processors: Processors | None = None,
        draft_processors: Processors | None = None,
        stopping: Stopping | None = None,
        batch: Callable[[], PersistentBatch] = PersistentBatch,
        limits: Scheduling | None = None,
        accounting: Callable[[int], Accounting] = Accounting,
    ) -> None:
        if draft_tokens < 0:
            raise ValueError(f"draft_tokens must be at least 0, got {draft_tokens}")
        if first_token not in get_args(FirstToken):
            raise ValueError(f"first_token must be 'prefill' or 'drafted', got {first_token!r}")
        if world.topology is not None and draft_tokens > len(world.topology):
            raise ValueError(f"draft_tokens must be at most {len(world.topology)}, the tree's, got {draft_tokens}")
        self.world = world
        self.draft_tokens = draft_tokens
        self.first_token = first_token
        self.draft_length = draft_length or FixedLength()
        self.topology = world.topology
        self.verifier = verifier or (TreeVerifier(self.topology) if self.topology else ChainVerifier())
        self.greedy_verifier = greedy_verifier or (
            GreedyTreeVerifier(self.topology) if self.topology else GreedyVerifier()
        )
        self.processors = processors or Processors()
        self.draft_processors = draft_processors or Processors()
        self.stopping = stopping or Stopping()
        self.batch = batch
        self.limits = limits or Scheduling()
        self.accounting = accounting(min(draft_tokens, self.topology.height) if self.topology else draft_tokens)

    logprobs_mode: Literal["raw", "processed"] = "raw"
    """Whether `logprobs` are those before or after the filters."""

    @property
    def counters(self) -> Counters:
        """Totals over the decoder's life, consistent even while a batch is running."""
        return self.accounting.counters

    def start(self, slots: int, limits: Scheduling | None = None) -> DecodingLoop:
        """Return a loop in which up to `slots` requests run at once, and fewer where the limits say so."""
        limits = limits or self.limits
        return DecodingLoop(self, limits, min(slots, limits.max_requests or slots))

    def generate(
        self,
        prompts: IntArray,
        seeds: NDArray[np.integer],
        *,
        max_tokens: int | IntArray,
        parameters: SamplingParameters | Sequence[SamplingParameters] = UNFILTERED,
        stop: StopRules | Sequence[StopRules] = TO_THE_END,
        limits: Scheduling | None = None,
    ) -> Generation:
        """Complete a batch of requests, by a loop of its own; for the arguments see `DecodingLoop.add`.

        A request's tokens depend on its own prompt, seed, cap and rules, never on its neighbours.

        Raises:
            ValueError: shapes disagree, a token is outside the vocabulary, or a cap is below 1.
        """
        loop = self.start(max(1, len(prompts)), limits)
        submission = loop.add(prompts, seeds, max_tokens=max_tokens, parameters=parameters, stop=stop)
        loop.run()
        return loop.collect(submission)

    def streams(self, seeds: NDArray[np.integer], domain: Domain) -> RowStreams:
        """Return the random streams of requests that come together, given their seeds `[b]`."""
        return RowStreams(seeds, domain)

    def num_draft(self, rows: Rows, running: int) -> IntArray:
        """Choose how many tokens each row may draft `[b]`.

        The verifier adds a token of its own, so a row with room for one token left drafts none, and
        no step can pass the cap.
        """
        emitted = rows.output_lengths
        length = self.draft_length.choose(rows.draft_length, running, self.draft_tokens)
        length = np.minimum(np.minimum(length, rows.draft_limit), self.room(rows.cap - emitted))
        return np.where(self.undrafted(emitted), 0, length)

    def room(self, left: IntArray) -> IntArray:
        """Count the drafts that there is room for when so many tokens may still be emitted `[b]`: in a tree, levels."""
        levels = (left - 1).clip(0, self.draft_tokens)
        if self.topology is None:
            return levels
        return np.minimum(np.searchsorted(self.topology.depth, levels, side="right") - 1, self.draft_tokens)

    def undrafted(self, emitted: IntArray) -> BoolArray:
        """Whether a row that has emitted so many tokens `[b]` is still at its first, which prefill gives."""
        return np.asarray((emitted == 0) & (self.first_token == "prefill"))

    def draft(self, drafter: Drafter, block: Block, streams: RowStreams) -> Drafts:
        """Let the drafter propose up to `num_draft` tokens for each row, and tell the laws it drew them from."""
        # Always K per row: what a row draws must not depend on how many its neighbours need.
        uniforms = streams.random((len(block), self.draft_tokens))
        width = int(block.num_draft.max(initial=0))
        if not width:
            nothing = np.zeros((len(block), 0), dtype=np.int64)
            return Drafts(
                tokens=nothing, q=np.zeros((*nothing.shape, self.world.vocabulary_size)), count=block.num_draft
            )

        def law(logits: FloatArray, drafts: IntArray) -> FloatArray:
            before = np.ones((1, drafts.shape[1]), dtype=np.bool_)
            return self.draft_processors(logits[:, None], block.rules, block.history(drafts, before))[:, 0]

        return drafter.draft(block.sequences, block.num_draft, uniforms[:, :width], law)

    def judged(self, block: Block) -> Block:
        """Say by which rules the drafts are judged: by those of the rows themselves.

        Args:
            block: the rows, with the drafts that each has made, not those that it might have.
        """
        return block

    def target(self, block: Block, drafts: Drafts, logits: FloatArray) -> FloatArray:
        """Make the target's laws `[b, K + 1, V]` of its logits at the drafts and behind the last one."""
        return self.laws(self.processors, block, drafts, logits)

    def laws(self, processors: Processors, block: Block, drafts: Drafts, logits: FloatArray) -> FloatArray:
        """Let processors make laws `[b, K + 1, V]` of logits at the drafts and behind the last one."""
        width = drafts.tokens.shape[1]
        if self.topology is None:
            before = np.tri(width + 1, width, k=-1, dtype=np.bool_)
        else:
            before = self.topology.visible[: width + 1, 1 : width + 1]
        return processors(logits, block.rules, block.history(drafts.tokens, before))

    def coins(self, streams: RowStreams, block: Block) -> FloatArray:
        """Draw the uniforms that a row is judged by in one step, `[b, K + 1]`."""
        return streams.random((len(block), self.draft_tokens + 1))

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Judge the drafts `[b, W]`, `W ≤ K`: at temperature 0 by a prefix match, else by their coins `[b, K + 1]`."""
        coins = self.dealt(coins, drafts.tokens.shape[1])
        greedy = self.greedy_rows(block)
        if greedy.all():
            return self._judge(drafts, p)
        if not greedy.any():
            return self._judge(drafts, p, coins)
        likeliest, drawn = np.flatnonzero(greedy), np.flatnonzero(~greedy)
        parts = (
            self._judge(_rows(drafts, likeliest), p[likeliest]),
            self._judge(_rows(drafts, drawn), p[drawn], coins[drawn]),
        )
        return _merged(parts, np.argsort(np.concatenate([likeliest, drawn])))

    def _judge(self, drafts: Drafts, p: FloatArray, coins: FloatArray | None = None) -> Verified:
        """Let the verifier of the one kind or, given coins, of the other decide."""
        if coins is None:
            return self.greedy_verifier(drafts.tokens, p.argmax(axis=2), drafts.count, check=False)
        return self.verifier(drafts.tokens, drafts.q, p, drafts.count, Dealt(coins), check=False)

    def dealt(self, coins: FloatArray, width: int) -> FloatArray:
        """Choose the uniforms of a block of `width` drafts `[b, width + 1]`: always the same one for its last token."""
        return coins[:, [*range(width), -1]]

    def greedy_rows(self, block: Block) -> BoolArray:
        """Whether each row takes the likeliest token `[b]`."""
        return block.rules.greedy

    def trim(self, block: Block, verified: Verified, string: IntArray) -> Trimmed:
        """Cut what was verified where the completion ends, given the state of the search for stop strings `[b]`."""
        return self.stopping(verified.out, verified.n_out, block.rules, block.output_lengths, string)

    def billed(self, generation: Generation) -> IntArray:
        """Say how many tokens of each completion are billed `[B]`: those that were emitted."""
        return generation.lengths

    def told(self, generation: Generation) -> tuple[IntArray, IntArray]:
        """Say what answers tell of each step: its drafts, and those that were accepted and emitted, `[B, S]`."""
        return generation.drafted_per_step, generation.accepted_per_step

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Return the log-probabilities that are reported at every emitted position `[B, L, V]`: the target's raw ones.

        Args:
            prompts: the prompt of each completion `[B, P]`, all of one length.
            generation: the completions, `L` tokens at most.
            parameters: how they were drawn, which raw log-probabilities do not show.
        """
        return self.scores(prompts, generation.tokens)

    def listed(self, generation: Generation, wanted: int) -> IntArray:
        """Say how many of the likeliest tokens are reported at every emitted position `[B, L]`: all that are wanted."""
        return np.full(generation.tokens.shape, wanted)

    def scores(self, prompts: IntArray, emitted: IntArray) -> FloatArray:
        """Return the target's raw log-probabilities at every token behind the prompts `[B, L, V]`, read at once.

        Args:
            prompts: the prompt of each completion `[B, P]`, all of one length.
            emitted: the tokens behind them `[B, L]`, padded with −1.
        """
        tokens = np.column_stack([np.full(len(prompts), BOS), prompts, emitted[:, :-1]])
        slots = np.arange(len(tokens))
        cache = self.world.target.cache(len(tokens))
        forward = self.world.target.forward(tokens.clip(BOS), np.full(len(tokens), tokens.shape[1]), cache, slots)
        return log_softmax(forward.logits[:, prompts.shape[1] :])


def _rows(drafts: Drafts, index: IntArray) -> Drafts:
    """Select rows."""
    return Drafts(tokens=drafts.tokens[index], q=drafts.q[index], count=drafts.count[index])


def _merged(parts: Sequence[Verified], order: IntArray) -> Verified:
    """Join parts of a batch, and put the rows in order."""
    columns = {one.name: np.concatenate([getattr(part, one.name) for part in parts])[order] for one in fields(parts[0])}
    return type(parts[0])(**columns)
