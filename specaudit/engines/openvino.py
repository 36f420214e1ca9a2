"""OpenVINO GenAI in process: its continuous-batching pipeline, plain, with a draft model or with prompt lookup.

Read and measured on openvino-genai 2026.4.1. What it reports of a token is its raw logprob; the whole law behind any
prefix comes from the target's own network, run here beside the pipeline at the same precision.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specaudit.engines.interface import Access, EngineFailure, Probe
from specaudit.engines.logprobs import Table, raw, reported
from specaudit.engines.openvino_sequences import FINISH, Generated, Running, as_tensor
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.entries import Failure
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Request

DRAFT_TOKENS = 3
MAX_CHOICES = 256

_EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
_PIPELINE = {**_EXACT, "KV_CACHE_PRECISION": "f32"}
_NGRAM = 3
_NOT_HAD = ("logit_bias", "bad_words", "allowed_token_ids", "grammar", "stop")


def build(arm: Arm, access: Access) -> "OpenVINOEngine":
    """Return the pipeline of an arm; `openvino:generate` asks for its drafts one by one, with their counters.

    Raises:
        UsageError: the package `openvino-genai` is not installed, there is no such variant, a folder holds no model
            that it can load, or counters are wanted where none are kept.
    """
    hint = "specaudit run --engine openvino --target PATH --draft PATH"
    if arm.target is None:
        raise UsageError("The engine 'openvino' needs the folder of a converted model.", hint=hint)
    variant = arm.engine.partition(":")[2]
    if variant not in ("", "generate"):
        raise UsageError(f"There is no variant {variant!r} of the engine 'openvino'.", hint=hint)
    kind = OpenVINOEngine
    if variant and arm.role == "subject":
        from specaudit.engines.openvino_generate import CountedEngine

        if arm.draft is None or arm.speculation != "draft":
            raise UsageError(
                "'openvino:generate' is about the counters of a draft model, which only a pipeline with one keeps.",
                hint="specaudit run --engine openvino:generate --target PATH --draft PATH",
            )
        kind = CountedEngine
    return kind(
        Path(arm.target),
        draft=None if arm.draft is None or arm.speculation != "draft" else Path(arm.draft),
        lookup=arm.speculation == "lookup",
        draft_tokens=DRAFT_TOKENS if arm.draft_tokens is None else arm.draft_tokens,
    )


class OpenVINOEngine:
    """One pipeline; requests that are asked for at the same time, and their choices, run in one batch.

    Args:
        target: Folder of the target in OpenVINO's form, with its tokenizer.
        draft: Folder of the draft model; None for none.
        lookup: Drafts are looked up in the prompt.
        draft_tokens: Drafts per step.
    """

    def __init__(self, target: Path, *, draft: Path | None = None, lookup: bool = False, draft_tokens: int = 3) -> None:
        genai, core = _packages()
        properties: dict[str, Any] = dict(_PIPELINE)
        if draft is not None:
            properties["draft_model"] = genai.draft_model(str(_folder(draft)), "CPU")
        elif lookup:
            properties["prompt_lookup"] = True
        self._genai = genai
        self._target = _folder(target)
        self._core = core
        self._network: Any = None
        self._lookup = lookup
        self._drafts = draft_tokens if draft is not None or lookup else 0
        try:
            self._pipeline = genai.ContinuousBatchingPipeline(
                str(self._target), genai.SchedulerConfig(), "CPU", properties
            )
        except RuntimeError as error:
            raise UsageError(
                f"OpenVINO GenAI cannot load {target}: {_first_line(error)}",
                hint="optimum-cli export openvino --model MODEL FOLDER",
            ) from error
        self._tokenizer = self._pipeline.get_tokenizer()
        self._handed_in = 0
        self._running: list[Running] = []

    async def probe(self) -> Probe:
        """Say what this pipeline reveals."""
        version = self._genai.get_version()
        return Probe(
            capabilities=Capabilities(
                engine="openvino",
                model=self._target.name,
                tokens="ids",
                token_prompts=True,
                vocabulary_size=len(self._law((0,))[0]),
                max_choices=MAX_CHOICES,
                # While it speculates, what it says of a token itself is all there is: nothing of likelier ones.
                logprobs=1 if self._drafts else len(self._law((0,))[0]),
                logprobs_mode="raw",
                scores_prompts=not self._drafts,
                draft_tokens=self._drafts,
                refused=_NOT_HAD,
            ),
            exchanges=(f"openvino-genai {version}",),
        )

    def law(self) -> RevealedLaw | None:
        """A network has a law in contexts without number."""
        return None

    async def close(self) -> None:
        """Nothing is held."""

    async def complete(self, request: Request) -> Response:
        """Answer one request; choice i is drawn with seed + i.

        Raises:
            EngineFailure: the request asks for what the pipeline does not have, or it failed.
        """
        prompt = self._encoded(request)
        settings = [self._settings(request, request.seed + choice) for choice in range(request.n)]
        try:
            generated = await self._generated(prompt, settings)
        except (RuntimeError, ValueError) as error:
            raise _failure(_first_line(error)) from error
        completions = tuple(self._completion(prompt, request, one) for one in generated)
        return Response(
            completions=completions,
            prompt_token_ids=prompt,
            scores=self._scores(prompt, request),
            prompt_tokens=len(prompt),
            completion_tokens=sum(len(completion.tokens or ()) for completion in completions),
            speculation=self._speculation(generated) if self._drafts else None,
        )

    async def _generated(self, prompt: tuple[int, ...], settings: list[Any]) -> Sequence[Generated]:
        """Draw a completion with each of the settings, all in one batch with whatever else is asked for."""
        generated = [self._begun(prompt, one) for one in settings]
        while not all(one.finished for one in generated):
            self._step()
            await asyncio.sleep(0)
        return generated

    def _speculation(self, generated: Sequence[Generated]) -> dict[str, Any]:
        """Tell what each step emitted; more this way of asking does not tell."""
        return {"emitted_per_step": [one.steps for one in generated]}

    def _begun(self, prompt: tuple[int, ...], settings: Any) -> Running:
        """Hand a prompt in; whoever waits for any answer takes the next step, which moves all."""
        handle = self._pipeline.add_request(self._handed_in, as_tensor(prompt), settings)
        self._handed_in += 1
        self._running.append(begun := Running(handle))
        return begun

    def _step(self) -> None:
        self._pipeline.step()
        for one in self._running:
            one.read()
        self._running = [one for one in self._running if not one.finished]

    def _encoded(self, request: Request) -> tuple[int, ...]:
        if isinstance(request.prompt, str):
            encoded = self._tokenizer.encode(request.prompt).input_ids.data
            return tuple(int(token) for token in encoded[0])
        size = len(self._law((0,))[0])
        if not request.prompt or not all(0 <= token < size for token in request.prompt):
            raise _failure(f"the prompt must be tokens below {size}, and at least one")
        return request.prompt

    def _settings(self, request: Request, seed: int) -> Any:
        """Every parameter by its own name: no default of the pipeline's ever decides."""
        sampling = request.sampling
        asked = {*sampling.changed, *(("stop",) if request.stop else ())}
        if refused := [name for name in _NOT_HAD if name in asked]:
            raise _failure(f"this pipeline has no {refused[0]}")
        config = self._genai.GenerationConfig()
        config.max_new_tokens = request.max_tokens
        config.min_new_tokens = request.min_tokens
        config.ignore_eos = request.ignore_eos
        config.rng_seed = seed % 2**32
        config.do_sample = sampling.temperature > 0
        if config.do_sample:
            config.temperature = sampling.temperature
            config.top_k = sampling.top_k or len(self._law((0,))[0])
            config.top_p = sampling.top_p
            config.min_p = sampling.min_p
        config.repetition_penalty = sampling.repetition_penalty
        config.presence_penalty = sampling.presence_penalty
        config.frequency_penalty = sampling.frequency_penalty
        config.logprobs = 1
        if request.stop_token_ids:
            config.stop_token_ids = set(request.stop_token_ids)
        if self._drafts:
            config.num_assistant_tokens = self._drafts
        if self._lookup:
            config.max_ngram_size = _NGRAM
        return config

    def _completion(self, prompt: tuple[int, ...], request: Request, generated: Generated) -> Completion:
        tokens = tuple(generated.tokens)
        if request.logprobs is None:
            logprobs = None
        elif self._drafts:
            logprobs = generated.reported()
        else:
            logprobs = self._logprobs(prompt, tokens, request.logprobs)
        return Completion(tokens=tokens, finish_reason=FINISH.get(generated.reason, "unknown"), logprobs=logprobs)

    def _logprobs(
        self, before: tuple[int, ...], tokens: tuple[int, ...], count: int | None
    ) -> tuple[TokenLogprobs, ...] | None:
        """The target's raw logprobs of tokens behind others, and of its `count` most likely ones at each place."""
        if count is None:
            return None
        return reported(tokens, self._law(before + tokens)[len(before) - 1 : -1], count)

    def _scores(self, prompt: tuple[int, ...], request: Request) -> tuple[TokenLogprobs, ...] | None:
        if request.score_from is None:
            return None
        return self._logprobs(prompt[: request.score_from], prompt[request.score_from :], request.logprobs)

    def _law(self, tokens: tuple[int, ...]) -> Table:
        """Raw log probabilities of the next token behind every prefix `[T, V]`, from the target's own network."""
        if self._network is None:
            model = self._core.compile_model(str(self._target / "openvino_model.xml"), "CPU", _EXACT)
            self._network = model.create_infer_request()
        size = len(tokens)
        inputs = {
            "input_ids": np.array([tokens], dtype=np.int64),
            "attention_mask": np.ones((1, size), dtype=np.int64),
            "position_ids": np.arange(size, dtype=np.int64)[None],
            "beam_idx": np.zeros(1, dtype=np.int32),
        }
        self._network.reset_state()
        return raw(next(iter(self._network.infer(inputs).values()))[0])


def _packages() -> tuple[Any, Any]:
    try:
        import openvino
        import openvino_genai
    except ImportError as error:
        raise UsageError(
            "The engine 'openvino' needs the package 'openvino-genai', which is not installed.",
            hint="pip install 'specdec-audit[openvino]'",
        ) from error
    return openvino_genai, openvino.Core()


def _folder(path: Path) -> Path:
    if not (path / "openvino_model.xml").is_file():
        raise UsageError(
            f"{path} is no folder of a converted model: it has no openvino_model.xml.",
            hint="optimum-cli export openvino --model MODEL FOLDER",
        )
    return path


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)


def _failure(message: str) -> EngineFailure:
    return EngineFailure(Failure(reason="status", message=message, status=400, lost=False))
