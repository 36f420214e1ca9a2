"""The loop of speculative decoding: draft, verify, emit, stop."""

from collections.abc import Callable, Collection
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from specaudit.decoding.accounting import Accounting, Counters, Step
from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.generation import Generation, Transcript
from specaudit.decoding.processors import UNFILTERED, SamplingParameters
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.streams import Domain, RowStreams, UniformSource
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import World

FirstToken = Literal["prefill", "drafted"]


class SpeculativeDecoder:
    """A target that answers requests, sped up by a drafter; with `draft_tokens=0`, plain decoding.

    The steps of the loop are methods, so that a fault is a subclass that overrides one.

    Args:
        world: the target and its drafter.
        draft_tokens: drafts per step `K`; fewer where the cap is nearer.
        first_token: `prefill` draws a request's first token undrafted, as deployed engines do, since
            prefill yields the target's law there anyway; `drafted` speculates from the first token on.
        verifier: verification when sampling; by default the exact one.
        greedy_verifier: verification at temperature 0; by default the exact one.
        accounting: makes the keeper of the counters, given `K`.

    Raises:
        ValueError: `draft_tokens` is negative, or `first_token` is neither of the two.
    """

    def __init__(
        self,
        world: World,
        *,
        draft_tokens: int = 3,
        first_token: FirstToken = "prefill",
        verifier: ChainVerifier | None = None,
        greedy_verifier: GreedyVerifier | None = None,
        accounting: Callable[[int], Accounting] = Accounting,
    ) -> None:
        if draft_tokens < 0:
            raise ValueError(f"draft_tokens must be at least 0, got {draft_tokens}")
        if first_token not in get_args(FirstToken):
            raise ValueError(f"first_token must be 'prefill' or 'drafted', got {first_token!r}")
        self.world = world
        self.draft_tokens = draft_tokens
        self.first_token = first_token
        self._verifier = verifier or ChainVerifier()
        self._greedy_verifier = greedy_verifier or GreedyVerifier()
        self._accounting = accounting(draft_tokens)

    @property
    def counters(self) -> Counters:
        """Totals over the decoder's life, consistent even while a batch is running."""
        return self._accounting.counters

    def generate(
        self,
        last: IntArray,
        seeds: NDArray[np.integer],
        *,
        max_tokens: int | IntArray,
        parameters: SamplingParameters = UNFILTERED,
        stop: Collection[int] = (),
        ignore_eos: bool = False,
        prompt_tokens: int = 0,
    ) -> Generation:
        """Complete a batch of requests.

        A request's tokens depend on its own last token, seed, cap and parameters, never on its neighbours.

        Args:
            last: last token of each prompt `[B]`, −1 for an empty prompt.
            seeds: seed of each request `[B]`.
            max_tokens: cap on emitted tokens, `[B]` or one for all.
            parameters: how tokens are drawn, by the target and by the drafter.
            stop: tokens that end a completion, besides the world's EOS; they are emitted.
            ignore_eos: whether the world's EOS is a token like any other.
            prompt_tokens: prompt tokens that the batch brought, for the counters.

        Raises:
            ValueError: shapes disagree, a token is outside the vocabulary, or a cap is below 1.
        """
        caps = self._admit(last, seeds, max_tokens)
        stops = self._stop_tokens(stop, ignore_eos)
        drafting, judging = RowStreams(seeds, Domain.DRAFTER), RowStreams(seeds, Domain.VERIFIER)
        transcript = Transcript(len(caps), int(np.max(max_tokens, initial=0)), self.draft_tokens + 1)
        active, context = np.arange(len(caps)), last
        while active.size:
            room = caps[active] - transcript.lengths[active]
            num_draft = self.num_draft(room, prefill=transcript.empty)
            draft, q = self.draft(context, num_draft, drafting, parameters)
            verified = self.verify(context, draft, q, num_draft, judging, parameters)
            emitted, stopped = self.trim(verified, stops)
            step = Step(drafted=num_draft, verified=verified.n_accepted, emitted=emitted)
            self._accounting.record(step)
            transcript.append(active, verified.out, step, stopped)
            going = np.flatnonzero(~stopped & (emitted < room))
            context = verified.out[going, emitted[going] - 1]
            active, drafting, judging = active[going], drafting.rows(going), judging.rows(going)
        generation = transcript.generation()
        ends = int(generation.stopped.sum())
        self._accounting.finish(stopped=ends, at_length=len(caps) - ends, prompt_tokens=prompt_tokens)
        return generation

    def num_draft(self, room: IntArray, *, prefill: bool) -> IntArray:
        """Choose how many tokens each row drafts `[b]`.

        The verifier adds a token of its own, so a row with `room` for one token left drafts none, and
        no step can pass the cap.
        """
        if prefill and self.first_token == "prefill":
            return np.zeros_like(room)
        return np.minimum(self.draft_tokens, room - 1)

    def draft(
        self, context: IntArray, num_draft: IntArray, rng: UniformSource, parameters: SamplingParameters
    ) -> tuple[IntArray, FloatArray]:
        """Draw tokens `[b, K]` from the drafter, one after the other, with the laws `[b, K, V]` they had."""
        batch, width = len(context), self.draft_tokens
        draft = np.zeros((batch, width), dtype=np.int64)
        q = np.zeros((batch, width, self.world.vocabulary_size))
        # Always K per row: what a row draws must not depend on how many its neighbours need.
        uniforms = rng.random((batch, width))
        for i in range(num_draft.max()):
            law = self.world.drafter.probabilities(context, parameters)
            context = inverse_cdf(law, uniforms[:, i])
            draft[:, i], q[:, i] = context, law
        return draft, q

    def verify(
        self,
        context: IntArray,
        draft: IntArray,
        q: FloatArray,
        num_draft: IntArray,
        rng: UniformSource,
        parameters: SamplingParameters,
    ) -> Verified:
        """Let the target judge the drafts `[b, K]`, all positions at once."""
        contexts = np.column_stack([context, draft])
        p = self.world.target.probabilities(contexts, parameters)
        if parameters.temperature == 0:
            return self._greedy_verifier(draft, p.argmax(axis=2), num_draft)
        return self._verifier(draft, q, p, num_draft, rng, check=False)

    def trim(self, verified: Verified, stops: IntArray) -> tuple[IntArray, BoolArray]:
        """Cut each block behind its first stop token: tokens emitted `[b]`, whether one was found `[b]`."""
        found = np.isin(verified.out, stops)
        stopped = np.asarray(found.any(axis=1))
        return np.where(stopped, found.argmax(axis=1) + 1, verified.n_out), stopped

    def _admit(self, last: IntArray, seeds: NDArray[np.integer], max_tokens: int | IntArray) -> IntArray:
        """Validate a batch; return the cap of each request `[B]`."""
        caps = np.asarray(max_tokens)
        if last.ndim != 1 or seeds.shape != last.shape or caps.shape not in ((), last.shape):
            raise ValueError(
                "last and seeds must be [B], max_tokens [B] or a number; "
                f"got {list(last.shape)}, {list(seeds.shape)}, {list(caps.shape)}"
            )
        vocabulary = self.world.vocabulary_size
        if (bad := (last < -1) | (last >= vocabulary)).any():
            row = int(bad.argmax())
            raise ValueError(f"request {row}: last token {last[row]} is not one of {vocabulary} tokens, nor -1")
        if caps.min(initial=1) < 1:
            raise ValueError(f"max_tokens must be at least 1, got {caps.min()}")
        return np.broadcast_to(caps, last.shape)

    def _stop_tokens(self, stop: Collection[int], ignore_eos: bool) -> IntArray:
        """Join the request's stop tokens and, unless it is ignored, the world's EOS."""
        eos = () if self.world.eos is None or ignore_eos else (self.world.eos,)
        tokens = np.array(sorted({*stop, *eos}), dtype=np.int64)
        outside = tokens[(tokens < 0) | (tokens >= self.world.vocabulary_size)]
        if outside.size:
            raise ValueError(f"stop token {outside[0]} is not one of {self.world.vocabulary_size} tokens")
        return tokens
