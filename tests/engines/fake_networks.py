"""Stand-ins for packages that load networks: each keeps what it is asked, and emits tokens in a fixed way."""

from types import SimpleNamespace
from typing import Any

import numpy as np

VOCABULARY = 8
PER_STEP = 2
"""Tokens that a step emits where something is drafted."""


class Settings(SimpleNamespace):
    """A generation config: takes any parameter."""


class Handle:
    """One sequence: token i is (last prompt token + i) modulo the vocabulary, or what stops it."""

    def __init__(self, prompt: list[int], settings: Settings, per_step: int) -> None:
        self.settings = settings
        self._per_step = per_step
        self._left = [(prompt[-1] + 1 + i) % VOCABULARY for i in range(settings.max_new_tokens)]
        stops = getattr(settings, "stop_token_ids", set())
        self._cut = next((i + 1 for i, token in enumerate(self._left) if token in stops), None)
        self._left = self._left[: self._cut]
        self._ready: list[int] = []

    def step(self) -> None:
        self._ready, self._left = self._left[: self._per_step], self._left[self._per_step :]

    def can_read(self) -> bool:
        return bool(self._ready)

    def read(self) -> dict[int, Any]:
        tokens, self._ready = self._ready, []
        reason = "STOP" if self._cut else "LENGTH"
        output = SimpleNamespace(
            generated_ids=tokens,
            generated_log_probs=[-0.5] * len(tokens),
            finish_reason=SimpleNamespace(name=reason),
        )
        return {0: output}

    def get_status(self) -> Any:
        return SimpleNamespace(name="RUNNING" if self._left else "FINISHED")


class Pipeline:
    """A continuous-batching pipeline."""

    def __init__(self, target: str, scheduler: object, device: str, properties: dict[str, Any]) -> None:
        if "broken" in target:
            raise RuntimeError("Exception from core.cpp:1\ncannot read the model")
        self.properties = properties
        self.handles: list[Handle] = []

    def get_tokenizer(self) -> Any:
        def encode(text: str) -> Any:
            return SimpleNamespace(input_ids=SimpleNamespace(data=np.array([[ord(one) % VOCABULARY for one in text]])))

        return SimpleNamespace(encode=encode)

    def add_request(self, number: int, prompt: Any, settings: Settings) -> Handle:
        if getattr(settings, "top_p", 1.0) == 0.123:
            raise RuntimeError("Check 'top_p' failed")
        drafts = hasattr(settings, "num_assistant_tokens")
        self.handles.append(Handle(prompt[0].tolist(), settings, PER_STEP if drafts else 1))
        return self.handles[-1]

    def step(self) -> None:
        for handle in self.handles:
            handle.step()

    def generate(self, prompts: list[Any], settings: list[Settings], streamer: Any) -> list[Any]:
        """One answer, whose last step counts for nothing, as in the package."""
        handle = self.add_request(0, prompts[0], settings[0])
        tokens: list[int] = []
        steps = accepted = 0
        while handle.get_status().name == "RUNNING":
            handle.step()
            (output,) = handle.read().values()
            ids = output.generated_ids if tokens else output.generated_ids[:1]  # prefill emits one
            handle._left = output.generated_ids[len(ids) :] + handle._left
            streamer.write(list(ids) if len(ids) > 1 else ids[0])
            tokens += ids
            if len(tokens) > 1 and handle._left:
                steps, accepted = steps + 1, accepted + len(ids) - 1
        streamer.end()
        counts = {"draft": steps, "accepted": accepted, "rejected": steps - accepted, "generated": len(tokens)}
        told = {f"get_num_{name}_tokens": lambda count=count: count for name, count in counts.items()}
        return [
            SimpleNamespace(
                m_generation_ids=[tokens],
                finish_reasons=[output.finish_reason],
                extended_perf_metrics=SimpleNamespace(**told),
            )
        ]


def openvino_genai() -> Any:
    """The package `openvino_genai`."""
    return SimpleNamespace(
        ContinuousBatchingPipeline=Pipeline,
        SchedulerConfig=SimpleNamespace,
        GenerationConfig=Settings,
        StreamerBase=object,
        StreamingStatus=SimpleNamespace(RUNNING=0),
        draft_model=lambda path, device: path,
        get_version=lambda: "2026.4.1",
    )


class Network:
    """The target's own network: behind token t, token t + 1 has logit 1 and all others 0."""

    def create_infer_request(self) -> "Network":
        return self

    def reset_state(self) -> None:
        pass

    def infer(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"logits": np.eye(VOCABULARY)[(inputs["input_ids"] + 1) % VOCABULARY]}


def openvino() -> Any:
    """The package `openvino`."""
    return SimpleNamespace(
        Core=lambda: SimpleNamespace(compile_model=lambda path, device, properties: Network()), Tensor=np.asarray
    )
