"""The embedded reference decoder, in process: plain or speculating, its law known exactly."""

import asyncio
import time
from dataclasses import replace

import numpy as np

from specaudit.decoding.automata import Grammar
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.exporter import CONTENT_TYPE, Exporter
from specaudit.decoding.generation import Generation
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.parameters import SamplingParameters, StopRules
from specaudit.decoding.patterns import grammar_of
from specaudit.decoding.worlds import SmallModel
from specaudit.engines.embedded import HOME, world_named
from specaudit.engines.interface import Access, EngineFailure, Page, Probe
from specaudit.engines.reference_answer import letters, reported_rows, speculation_of, steps_of, table_of
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.entries import Failure
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Prompt, Request, Sampling, Token

MAX_CHOICES = 256
"""Completions per request."""

_MAX_RUNNING = 4 * MAX_CHOICES
"""Completions that are decoded at once."""


def build(arm: Arm, access: Access) -> "ReferenceEngine":
    """Return the reference decoder with the arm's number of drafts per step.

    Raises:
        UsageError: the arm asks for a variant or a world, of which there is none.
    """
    if arm.engine != "reference":
        raise UsageError(f"There is no engine named {arm.engine!r}.", hint="specaudit list engines")
    return ReferenceEngine(SpeculativeDecoder(world_named(arm.world or HOME), draft_tokens=arm.draft_tokens or 0))


class ReferenceEngine:
    """Answers requests from a decoder in this process, and shows its counters as a metrics page.

    Requests that are asked for at the same time run in one batch.

    Args:
        decoder: The decoder.
        model_name: What it is served under; the world's name unless given.
        step_seconds: What a step takes beside its arithmetic.
    """

    def __init__(
        self, decoder: SpeculativeDecoder, *, model_name: str | None = None, step_seconds: float = 0.0
    ) -> None:
        self.decoder = decoder
        decoder.world = replace(decoder.world, texts=tuple(letters(range(decoder.world.vocabulary_size))))
        self._loop = decoder.start(_MAX_RUNNING)
        self._step_seconds = step_seconds
        self._turn = asyncio.Lock()
        self._grammars: dict[str, Grammar] = {}
        self.model_name = model_name or decoder.world.name
        now = time.time()
        self._exporter = Exporter(model_name=self.model_name, created=now, process_start=now)

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens, V."""
        return self.decoder.world.vocabulary_size

    async def probe(self) -> Probe:
        """Say what this decoder reveals; nothing has to be found out."""
        return Probe(
            capabilities=Capabilities(
                engine="reference",
                model=self.model_name,
                tokens="ids",
                token_prompts=True,
                vocabulary_size=self.vocabulary_size,
                max_choices=MAX_CHOICES,
                logprobs=self.vocabulary_size,
                logprobs_mode=self.decoder.logprobs_mode,
                scores_prompts=True,
                draft_tokens=self.decoder.draft_tokens,
                counts_in_answers=self.decoder.draft_tokens > 0,
                sets_draft_tokens=self.decoder.topology is None,
            )
        )

    def law(self) -> RevealedLaw | None:
        """Return the target's raw law in every context; None where contexts are without number."""
        target = self.decoder.world.target
        if not isinstance(target, MarkovModel):
            return None
        contexts: list[tuple[int, ...]] = [(), *((token,) for token in range(self.vocabulary_size))]
        drafter = self.decoder.world.drafter
        drafts = drafter.model if isinstance(drafter, SmallModel) and not drafter.greedy else None
        return RevealedLaw(
            order=1,
            contexts=tuple(contexts),
            logprobs=table_of(target),
            drafts=table_of(drafts) if isinstance(drafts, MarkovModel) else None,
            eos=self.decoder.world.eos,
        )

    async def scrape(self) -> Page:
        """Return the counters as a metrics page."""
        return Page(
            text=self._exporter.page(self.decoder.counters, running=self._loop.running, waiting=self._loop.waiting),
            content_type=CONTENT_TYPE,
        )

    async def close(self) -> None:
        """Nothing is held."""

    async def complete(self, request: Request) -> Response:
        """Answer one request; choice i is drawn with seed + i.

        Raises:
            EngineFailure: the request asks for what this decoder does not have.
        """
        prompt = self.admit(request)
        prompts = np.tile(np.array(prompt, dtype=np.int64), (request.n, 1))
        try:
            submission = self._loop.add(
                prompts,
                np.arange(request.n, dtype=np.uint64) + np.uint64(request.seed % 2**64),
                max_tokens=request.max_tokens,
                parameters=self.parameters(request.sampling),
                stop=StopRules(
                    token_ids=request.stop_token_ids,
                    strings=request.stop,
                    ignore_eos=request.ignore_eos,
                    min_tokens=request.min_tokens,
                ),
                draft_tokens=request.draft_tokens,
            )
        except ValueError as error:
            raise _refusal(str(error)) from error
        generation = await self._finished(submission)
        logprobs = self._logprobs(prompt, generation, request)
        told_as_text = bool(request.stop) or not request.ignore_eos  # elsewhere it would only repeat the tokens
        rows = zip(generation.tokens.tolist(), generation.lengths.tolist(), generation.finish.tolist(), strict=True)
        completions = tuple(
            Completion(
                tokens=tuple(tokens[:length]),
                text=letters(tokens[:length]) if told_as_text else None,
                finish_reason=finish,
                logprobs=None if logprobs is None else logprobs[i],
                steps=steps_of(generation, i) if self.decoder.draft_tokens else None,
            )
            for i, (tokens, length, finish) in enumerate(rows)
        )
        return Response(
            completions=completions,
            prompt_token_ids=prompt,
            scores=self._scores(prompt, request),
            prompt_tokens=len(prompt),
            completion_tokens=int(self.decoder.billed(generation).sum()),
            speculation=speculation_of(self.decoder.told(generation), self.decoder.draft_tokens)
            if request.n == 1
            else None,
        )

    async def _finished(self, submission: int) -> Generation:
        """Decode until a submission has ended; whoever waits takes the next step, which moves all."""
        try:
            while not self._loop.finished(submission):
                await self._step(submission)
            return self._loop.collect(submission)
        except ValueError as error:
            raise _refusal(str(error)) from error
        finally:
            self._loop.abort(submission)

    async def _step(self, submission: int) -> None:
        """Take a step of the batch; one that takes a time of its own is taken by one of those who wait."""
        if not self._step_seconds:
            self._loop.step()
            await asyncio.sleep(0)
            return
        async with self._turn:
            if not self._loop.finished(submission):
                await asyncio.sleep(self._step_seconds)
                self._loop.step()

    def parameters(self, sampling: Sampling) -> SamplingParameters:
        """Translate the request's parameters; a bad word may be spelt.

        Raises:
            ValueError: a parameter is out of range.
        """
        return SamplingParameters(
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            repetition_penalty=sampling.repetition_penalty,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            logit_bias=sampling.logit_bias,
            bad_words=tuple(self._word(word) for word in sampling.bad_words),
            allowed_token_ids=sampling.allowed_token_ids,
            grammar=None if sampling.grammar is None else self._grammar(sampling.grammar),
        )

    def _grammar(self, pattern: str) -> Grammar:
        """Return the grammar of a pattern, the same one each time: rules are told apart by it.

        Raises:
            ValueError: it is no pattern.
        """
        if pattern not in self._grammars:
            world = self.decoder.world
            texts = world.texts or [chr(ord("a") + token) for token in range(world.vocabulary_size)]
            self._grammars[pattern] = grammar_of(pattern, texts, world.eos)
        return self._grammars[pattern]

    def _word(self, tokens: tuple[Token, ...]) -> tuple[int, ...]:
        """Return the ids of tokens, each an id or a text."""
        return tuple(one for token in tokens for one in (self.encode(token) if isinstance(token, str) else (token,)))

    def admit(self, request: Request) -> tuple[int, ...]:
        """Return the prompt of a request as token ids, if the decoder, which sees last tokens only, may be asked.

        Raises:
            EngineFailure: a token is outside the vocabulary, or n out of range.
        """
        prompt = self.encode(request.prompt)
        for token in (*prompt, *request.stop_token_ids):
            if not 0 <= token < self.vocabulary_size:
                raise _refusal(f"token {token} is not one of {self.vocabulary_size}")
        if not 1 <= request.n <= MAX_CHOICES:
            raise _refusal(f"n must be between 1 and {MAX_CHOICES}, got {request.n}")
        return prompt

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """Return a prompt's token ids: a text's characters, `a` being token 0, modulo the vocabulary's tokens."""
        if isinstance(prompt, str):
            tokens = self.vocabulary_size - self.decoder.world.padding
            return tuple((ord(character) - ord("a")) % tokens for character in prompt)
        return prompt

    def _logprobs(
        self, prompt: tuple[int, ...], generation: Generation, request: Request
    ) -> list[tuple[TokenLogprobs, ...]] | None:
        """What the decoder reports at every emitted position, and of its most likely tokens there."""
        if request.logprobs is None:
            return None
        prompts = np.tile(np.array(prompt, dtype=np.int64), (len(generation.tokens), 1))
        table = self.decoder.logprobs(prompts, generation, self.parameters(request.sampling))
        listed = self.decoder.listed(generation, request.logprobs)
        return reported_rows(table, generation.tokens, generation.lengths, listed)

    def _scores(self, prompt: tuple[int, ...], request: Request) -> tuple[TokenLogprobs, ...] | None:
        """The target's raw logprobs at the prompt's own tokens, from the one that the request names."""
        if request.score_from is None or request.logprobs is None:
            return None
        tokens = np.array(prompt, dtype=np.int64)[None]
        before, scored = tokens[:, : request.score_from], tokens[:, request.score_from :]
        table = self.decoder.scores(before, scored)
        return reported_rows(table, scored, np.array([scored.shape[1]]), np.full(scored.shape, request.logprobs))[0]


def _refusal(message: str) -> EngineFailure:
    return EngineFailure(Failure(reason="status", message=message, status=400, lost=False))
