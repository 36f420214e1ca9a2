"""transformers in process: `generate`, plain, with an assistant model or with prompt lookup.

Read and measured on transformers 5.5 to 5.24. `generate` draws from torch's global generator, which is seeded before
every choice, so choices are drawn one after the other; assisted generation has no batches anyway.
"""

from pathlib import Path
from typing import Any

import numpy as np

from specaudit.engines.interface import Access, EngineFailure, Probe
from specaudit.engines.logprobs import Table, raw, reported
from specaudit.engines.transformers_steps import Trace
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response, Steps
from specaudit.model.entries import Failure
from specaudit.model.errors import UsageError
from specaudit.model.law import RevealedLaw
from specaudit.model.plan import Arm
from specaudit.model.request import Request

DRAFT_TOKENS = 3
MAX_CHOICES = 256

_ENSEMBLE = "assistant_ensemble_weight"
_NOT_HAD = ("presence_penalty", "frequency_penalty", "bad_words", "allowed_token_ids", "grammar", "stop")


def build(arm: Arm, access: Access) -> "TransformersEngine":
    """Return the model of an arm; `transformers:WEIGHT` mixes the assistant's law into the target's on purpose.

    Raises:
        UsageError: torch or transformers is not installed, there is no such variant, or a folder holds no model.
    """
    hint = "specaudit run --engine transformers --target PATH --draft PATH"
    if arm.target is None:
        raise UsageError("The engine 'transformers' needs the folder of a model.", hint=hint)
    variant = arm.engine.partition(":")[2]
    try:
        weight = float(variant) if variant and arm.role == "subject" else None
    except ValueError as error:
        raise UsageError(f"{variant!r} is no {_ENSEMBLE}: it is a number from 0 to 1.", hint=hint) from error
    return TransformersEngine(
        Path(arm.target),
        draft=None if arm.draft is None else Path(arm.draft),
        lookup=arm.speculation == "lookup",
        draft_tokens=DRAFT_TOKENS if arm.draft_tokens is None else arm.draft_tokens,
        ensemble_weight=weight,
    )


class TransformersEngine:
    """One model, and perhaps its assistant.

    Args:
        target: Folder of the target, with its tokenizer.
        draft: Folder of the assistant model; None for none.
        lookup: Drafts are looked up in the prompt.
        draft_tokens: Drafts per step, K.
        ensemble_weight: Share that the assistant's law has in what drafts are verified against; None leaves the
            target's law alone.
    """

    def __init__(
        self,
        target: Path,
        *,
        draft: Path | None = None,
        lookup: bool = False,
        draft_tokens: int = DRAFT_TOKENS,
        ensemble_weight: float | None = None,
    ) -> None:
        self._torch, self._transformers = _packages()
        self._target = target
        self._model = self._loaded(target)
        self._forget_defaults()
        self._vocabulary_size = int(self._model.config.vocab_size)
        self._drafting: dict[str, Any] = {}
        if draft is not None:
            assistant = self._loaded(draft)
            # A constant number of drafts, whatever was accepted before, and however sure the assistant is.
            assistant.generation_config.update(
                num_assistant_tokens=draft_tokens,
                num_assistant_tokens_schedule="constant",
                assistant_confidence_threshold=0.0,
            )
            self._drafting["assistant_model"] = assistant
            if ensemble_weight is not None:
                self._drafting[_ENSEMBLE] = ensemble_weight
        elif lookup:
            self._drafting["prompt_lookup_num_tokens"] = draft_tokens
        self._drafts = draft_tokens if self._drafting else 0
        self._tokenizer: Any = None

    def _loaded(self, folder: Path) -> Any:
        try:
            model = self._transformers.AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=self._torch.float32, local_files_only=True
            )
        except (OSError, ValueError) as error:
            raise UsageError(
                f"transformers cannot load {folder}: {str(error).splitlines()[0]}",
                hint="specaudit run --engine transformers --target FOLDER_OF_A_SAVED_MODEL",
            ) from error
        return model.eval()

    def _forget_defaults(self) -> None:
        """Keep of the folder's generation config what ends a sequence, and nothing that would shape a law.

        It may hold what no request here names, such as suppressed tokens or typical sampling.
        """
        own = self._model.generation_config
        kept = {name: getattr(own, name, None) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
        self._model.generation_config = self._transformers.GenerationConfig(**kept)

    async def probe(self) -> Probe:
        """Say what this model reveals."""
        return Probe(
            capabilities=Capabilities(
                engine="transformers",
                model=self._target.name,
                tokens="ids",
                token_prompts=True,
                vocabulary_size=self._vocabulary_size,
                max_choices=MAX_CHOICES,
                logprobs=self._vocabulary_size,
                logprobs_mode="raw",
                scores_prompts=True,
                draft_tokens=self._drafts,
                refused=_NOT_HAD,
            ),
            exchanges=(f"transformers {self._transformers.__version__}, torch {self._torch.__version__}",),
        )

    def law(self) -> RevealedLaw | None:
        """A network has a law in contexts without number."""
        return None

    async def close(self) -> None:
        """Nothing is held."""

    async def complete(self, request: Request) -> Response:
        """Answer one request; choice i is drawn with seed + i.

        Raises:
            EngineFailure: the request asks for what `generate` does not have, or it failed.
        """
        prompt = self._encoded(request)
        options = self._options(request)
        try:
            answers = [self._drawn(prompt, request.seed + choice, options) for choice in range(request.n)]
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise _failure(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error
        steps = [trace.steps() for _, trace in answers]
        completions = tuple(
            self._completion(prompt, tokens, told, request) for (tokens, _), told in zip(answers, steps, strict=True)
        )
        return Response(
            completions=completions,
            prompt_token_ids=prompt,
            scores=self._scores(prompt, request),
            prompt_tokens=len(prompt),
            completion_tokens=sum(len(tokens) for tokens, _ in answers),
            speculation=_speculation([trace.emitted for _, trace in answers], steps) if self._drafts else None,
        )

    def _encoded(self, request: Request) -> tuple[int, ...]:
        if isinstance(request.prompt, str):
            if self._tokenizer is None:
                self._tokenizer = self._transformers.AutoTokenizer.from_pretrained(str(self._target))
            return tuple(self._tokenizer(request.prompt)["input_ids"])
        if not request.prompt or not all(0 <= token < self._vocabulary_size for token in request.prompt):
            raise _failure(f"the prompt must be tokens below {self._vocabulary_size}, and at least one")
        return request.prompt

    def _options(self, request: Request) -> dict[str, Any]:
        """Every parameter by its own name: no default of the model's folder ever decides."""
        sampling = request.sampling
        asked = {*sampling.changed, *(("stop",) if request.stop else ())}
        if refused := [name for name in _NOT_HAD if name in asked]:
            raise _failure(f"`generate` has no {refused[0]} as OpenAI means it")
        ends = set(request.stop_token_ids)
        if not request.ignore_eos:
            own = self._model.generation_config.eos_token_id
            ends |= set(own) if isinstance(own, list) else {own} - {None}
        options: dict[str, Any] = {
            "max_new_tokens": request.max_tokens,
            "min_new_tokens": request.min_tokens or None,
            "do_sample": sampling.temperature > 0,
            # What no token has ends nothing; None is an error with prompt lookup (5.5).
            "eos_token_id": sorted(ends) or [self._vocabulary_size],
            "pad_token_id": 0,
            "repetition_penalty": sampling.repetition_penalty,
        }
        if sampling.temperature > 0:
            options |= {
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
                "min_p": sampling.min_p or None,
            }
        if sampling.logit_bias:
            options["sequence_bias"] = [[[token], bias] for token, bias in sampling.logit_bias]
        return options | self._drafting

    def _drawn(self, prompt: tuple[int, ...], seed: int, options: dict[str, Any]) -> tuple[tuple[int, ...], Trace]:
        """Tokens, and how they came."""
        torch, trace = self._torch, Trace(prompt)
        torch.manual_seed(seed % 2**63)
        tokens = torch.tensor([prompt])
        hook = self._model.register_forward_pre_hook(trace.forward, with_kwargs=True)
        try:
            with torch.no_grad():
                mask = torch.ones_like(tokens)
                sequence = self._model.generate(tokens, attention_mask=mask, streamer=trace, **options)[0]
        finally:
            hook.remove()
        return tuple(sequence[len(prompt) :].tolist()), trace

    def _completion(
        self, prompt: tuple[int, ...], tokens: tuple[int, ...], steps: Steps | None, request: Request
    ) -> Completion:
        logprobs = None
        if request.logprobs is not None:
            logprobs = reported(tokens, self._law(prompt + tokens)[len(prompt) - 1 : -1], request.logprobs)
        finish = "length" if len(tokens) >= request.max_tokens else "stop"
        return Completion(tokens=tokens, finish_reason=finish, logprobs=logprobs, steps=steps)

    def _scores(self, prompt: tuple[int, ...], request: Request) -> Any:
        if request.score_from is None or request.logprobs is None:
            return None
        first = request.score_from
        return reported(prompt[first:], self._law(prompt)[first - 1 : -1], request.logprobs)

    def _law(self, tokens: tuple[int, ...]) -> Table:
        """Raw log probabilities of the next token behind every prefix `[T, V]`."""
        with self._torch.no_grad():
            logits = self._model(self._torch.tensor([tokens])).logits[0]
        return raw(np.asarray(logits.float()))


def _speculation(emitted: list[list[int]], steps: list[Steps | None]) -> dict[str, Any]:
    """What each step of each choice emitted, and how many drafts it had where that was seen."""
    told: dict[str, Any] = {"emitted_per_step": emitted}
    if None not in steps:
        told["drafted_per_step"] = [list(one.drafted) for one in steps if one is not None]
    return told


def _packages() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise UsageError(
            "The engine 'transformers' needs the packages 'torch' and 'transformers', which are not installed.",
            hint="pip install 'specdec-audit[transformers]'",
        ) from error
    return torch, transformers


def _failure(message: str) -> EngineFailure:
    return EngineFailure(Failure(reason="status", message=message, status=400, lost=False))
