"""OpenVINO GenAI by `generate()`, one sequence at a time, which alone returns what it counts of its drafts.

Read and measured on openvino-genai 2026.4.1: handles of a batch that is driven step by step have no counters of
speculation, and `generate()` on several prompts gives every answer those of all. Logprobs of single tokens it does not
return.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from specaudit.engines.interface import Probe
from specaudit.engines.openvino import OpenVINOEngine
from specaudit.engines.openvino_sequences import Generated, as_tensor

_COUNTED = ("num_draft_tokens", "num_accepted_tokens", "num_rejected_tokens", "num_generated_tokens")


class CountedEngine(OpenVINOEngine):
    """A pipeline with a draft model whose answers count their own speculation; nothing runs beside anything."""

    async def probe(self) -> Probe:
        """Say what this pipeline reveals."""
        probe = await super().probe()
        revealed = msgspec.structs.replace(
            probe.capabilities, counts_in_answers=True, logprobs=0, logprobs_mode="unknown"
        )
        return Probe(capabilities=revealed, exchanges=probe.exchanges)

    async def _generated(self, prompt: tuple[int, ...], settings: list[Any]) -> Sequence[Generated]:
        """Draw a completion with each of the settings, one after the other."""
        generated = []
        for one in settings:
            generated.append(self._drawn(prompt, one))
            await asyncio.sleep(0)
        return generated

    def _drawn(self, prompt: tuple[int, ...], settings: Any) -> Generated:
        steps: list[int] = []
        (answer,) = self._pipeline.generate([as_tensor(prompt)], [settings], _counting(self._genai, steps))
        counted = answer.extended_perf_metrics
        return Generated(
            tokens=[int(token) for token in answer.m_generation_ids[0]],
            steps=steps,
            reason=answer.finish_reasons[0].name,
            counts={name: int(getattr(counted, f"get_{name}")()) for name in _COUNTED},
        )

    def _speculation(self, generated: Sequence[Generated]) -> dict[str, Any]:
        """Add what the pipeline counts."""
        return super()._speculation(generated) | {"extended_perf_metrics": [one.counts for one in generated]}


def _counting(genai: Any, steps: list[int]) -> Any:
    """A streamer that notes how many tokens every step emits."""

    def write(streamer: Any, tokens: Any) -> Any:
        steps.append(len(tokens) if isinstance(tokens, list) else 1)
        return genai.StreamingStatus.RUNNING

    return type("Counting", (genai.StreamerBase,), {"write": write, "end": lambda streamer: None})()
