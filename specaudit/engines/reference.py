"""The embedded reference decoder, in process: plain or speculating, its law known exactly."""

import time

import numpy as np

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.exporter import CONTENT_TYPE, Exporter
from specaudit.decoding.generation import Generation
from specaudit.decoding.processors import SamplingParameters
from specaudit.decoding.worlds import WORLDS
from specaudit.engines.interface import Access, EngineFailure, Page, Probe
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.entries import Failure
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Prompt, Request

WORLD = "markov4"
"""The world that is decoded unless another is asked for."""

MAX_CHOICES = 256
"""Completions per request."""


def build(arm: Arm, access: Access) -> "ReferenceEngine":
    """Return the reference decoder with the arm's number of drafts per step.

    Raises:
        UsageError: the arm asks for a variant, of which there is none.
    """
    if arm.engine != "reference":
        raise UsageError(f"There is no engine named {arm.engine!r}.", hint="specaudit list engines")
    return ReferenceEngine(SpeculativeDecoder(WORLDS[WORLD], draft_tokens=arm.draft_tokens or 0))


class ReferenceEngine:
    """Answers requests from a decoder in this process, and shows its counters as a metrics page."""

    def __init__(self, decoder: SpeculativeDecoder, *, model_name: str | None = None) -> None:
        self.decoder = decoder
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
                logprobs_mode="raw",
                draft_tokens=self.decoder.draft_tokens,
            )
        )

    def law(self) -> RevealedLaw:
        """Return the target's raw law in every context."""
        contexts: list[tuple[int, ...]] = [(), *((token,) for token in range(self.vocabulary_size))]
        table = self.decoder.world.target.logits(np.arange(-1, self.vocabulary_size))
        return RevealedLaw(
            order=1,
            contexts=tuple(contexts),
            logprobs=tuple(tuple(value if np.isfinite(value) else None for value in row) for row in table.tolist()),
            eos=self.decoder.world.eos,
        )

    async def scrape(self) -> Page:
        """Return the counters as a metrics page."""
        return Page(text=self._exporter.page(self.decoder.counters), content_type=CONTENT_TYPE)

    async def close(self) -> None:
        """Nothing is held."""

    async def complete(self, request: Request) -> Response:
        """Answer one request; choice i is drawn with seed + i.

        Raises:
            EngineFailure: the request asks for what this decoder does not have.
        """
        prompt = self.admit(request)
        sampling = request.sampling
        try:
            generation = self.decoder.generate(
                np.full(request.n, prompt[-1] if prompt else -1),
                np.arange(request.n, dtype=np.uint64) + np.uint64(request.seed % 2**64),
                max_tokens=request.max_tokens,
                parameters=SamplingParameters(
                    temperature=sampling.temperature, top_k=sampling.top_k, top_p=sampling.top_p
                ),
                stop=request.stop_token_ids,
                ignore_eos=request.ignore_eos,
                prompt_tokens=len(prompt),
            )
        except ValueError as error:
            raise _refusal(str(error)) from error
        logprobs = self._logprobs(prompt, generation, request.logprobs)
        rows = zip(generation.tokens.tolist(), generation.lengths.tolist(), generation.finish.tolist(), strict=True)
        completions = tuple(
            Completion(
                tokens=tuple(tokens[:length]),
                finish_reason=finish,
                logprobs=None if logprobs is None else logprobs[i],
            )
            for i, (tokens, length, finish) in enumerate(rows)
        )
        return Response(
            completions=completions,
            prompt_token_ids=prompt,
            prompt_tokens=len(prompt),
            completion_tokens=int(generation.lengths.sum()),
        )

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
        """Return a prompt's token ids: a text's characters, `a` being token 0, modulo the vocabulary."""
        if isinstance(prompt, str):
            return tuple((ord(character) - ord("a")) % self.vocabulary_size for character in prompt)
        return prompt

    def _logprobs(
        self, prompt: tuple[int, ...], generation: Generation, count: int | None
    ) -> list[tuple[TokenLogprobs, ...]] | None:
        """The target's raw logprobs at every emitted position, and its `count` most likely tokens there."""
        if count is None:
            return None
        tokens, lengths = generation.tokens, generation.lengths
        first = np.full((len(tokens), 1), prompt[-1] if prompt else -1)
        table = self.decoder.world.target.logits(np.hstack([first, tokens[:, :-1]]))
        order = np.argsort(-table, axis=-1, kind="stable")[..., :count]
        ranked = np.take_along_axis(table, order, axis=-1)
        chosen = np.take_along_axis(table, tokens[..., None].clip(0), axis=-1)[..., 0]
        return [
            tuple(
                TokenLogprobs(
                    token=int(tokens[row, i]),
                    logprob=float(chosen[row, i]) if np.isfinite(chosen[row, i]) else None,
                    top=tuple(
                        (int(token), float(value))
                        for token, value in zip(order[row, i], ranked[row, i], strict=True)
                        if np.isfinite(value)
                    ),
                )
                for i in range(lengths[row])
            )
            for row in range(len(tokens))
        ]


def _refusal(message: str) -> EngineFailure:
    return EngineFailure(Failure(reason="status", message=message, status=400, lost=False))
