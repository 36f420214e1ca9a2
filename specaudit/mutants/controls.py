"""Controls: decoders that are unusual and right. An audit that reports one of them is wrong."""

from dataclasses import replace
from functools import partial
from typing import Any

from specaudit.decoding.accounting import Accounting, Counters
from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.draft_length import AdaptiveLength
from specaudit.decoding.generation import Generation
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.parameters import SamplingParameters
from specaudit.decoding.precision import Float8, Precision, QuantisedTransformer
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.streams import RowStreams
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier
from specaudit.decoding.worlds import SmallModel, TreeModel, World
from specaudit.mutants.registry import register_control
from specaudit.mutants.report import processed
from specaudit.mutants.state import KvOffByOne

_RESTARTED_BEHIND = 1000
"""Requests of a life: two restarts or so in an audit's windows."""


class SamplerMatch(SpeculativeDecoder):
    """The target draws every token, each with the coin of its position; a draft saves time where it is the token drawn.

    With the same seed the tokens are those of plain decoding.

    Seen: llama.cpp, by default.

    Args:
        world: as for every decoder.
        options: as for every decoder.
    """

    def __init__(self, world: World, **options: Any) -> None:
        super().__init__(world, verifier=SamplerMatchVerifier(), **options)

    def coins(self, streams: RowStreams, block: Block) -> FloatArray:
        """Draw the coins of the next positions; those that no token was drawn with come again."""
        return super().coins(streams.at(block.output_lengths), block)

    def dealt(self, coins: FloatArray, width: int) -> FloatArray:
        """Give each position its own."""
        return coins[:, : width + 1]


class ProcessedLogprobs(SpeculativeDecoder):
    """Log-probabilities are reported behind temperature and filters, of every token.

    Seen: vLLM with `--logprobs-mode processed_logprobs`; llama.cpp with `post_sampling_probs`.
    """

    logprobs_mode = "processed"

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Report the laws that tokens were drawn from."""
        return processed(self, prompts, generation, parameters)


def onehot(world: World, **options: Any) -> SpeculativeDecoder:
    """A sampled draft is judged as if it had been certain: accepted with p(x), replaced from p without x.

    Seen: vLLM, which keeps no q of drafters that draft greedily.
    """
    return SpeculativeDecoder(world, verifier=OneHotVerifier(), **options)


def block_verification(world: World, **options: Any) -> SpeculativeDecoder:
    """Drafts are judged by whole blocks, of which more are accepted.

    Seen: vLLM, rejection_sample_method `block`, after Sun et al., ICLR 2025.
    """
    return SpeculativeDecoder(world, verifier=BlockVerifier(), **options)


def greedy_draft(world: World, **options: Any) -> SpeculativeDecoder:
    """The drafter proposes its most likely token, and declares it as certain.

    Seen: vLLM, SGLang and llama.cpp, by default.

    Raises:
        ValueError: the world drafts with something else than a small model.
    """
    return SpeculativeDecoder(replace(world, drafter=replace(_small_model(world), greedy=True)), **options)


def tree_drafting(world: World, *, draft_tokens: int, **options: Any) -> SpeculativeDecoder:
    """Drafts form a tree in which every token but the last ones has two continuations.

    Seen: SGLang and TensorRT-LLM, with EAGLE.

    Raises:
        ValueError: the world drafts with something else than a small model.
    """
    # Node i has the children 2i + 1 and 2i + 2, however many nodes there are.
    topology = Topology([node // 2 for node in range(draft_tokens)])
    drafter = TreeModel(model=_small_model(world).model, topology=topology)
    return SpeculativeDecoder(replace(world, drafter=drafter, topology=topology), draft_tokens=draft_tokens, **options)


def adaptive_length(world: World, **options: Any) -> SpeculativeDecoder:
    """A request drafts more after a block that was accepted whole, and less after another.

    Seen: transformers, num_assistant_tokens_schedule `heuristic`.
    """
    return SpeculativeDecoder(world, draft_length=AdaptiveLength(), **options)


def async_scheduling(world: World, **options: Any) -> SpeculativeDecoder:
    """Each step is planned before the tokens of the last one are known, in vain for requests that end in it.

    Seen: vLLM, --async-scheduling.
    """
    return SpeculativeDecoder(world, limits=Scheduling(asynchronous=True), **options)


def preempting(world: World, **options: Any) -> SpeculativeDecoder:
    """Memory is so short that requests are preempted and read again, and long prompts are read in chunks.

    Seen: vLLM, SGLang, with a small KV cache.
    """
    limits = Scheduling(kv_tokens=2048, token_budget=max(256, options.get("draft_tokens", 3) + 1), prefill_chunk=32)
    return SpeculativeDecoder(world, limits=limits, **options)


def draft_kv_overtrimmed(world: World, **options: Any) -> SpeculativeDecoder:
    """After every rejection the drafter's memory is cut one token too short; it has to read that token again.

    Seen: a class of faults that costs time and shows nowhere else.

    Raises:
        ValueError: the world drafts with something else than a small transformer.
    """
    right = _small_transformer(world)
    return _drafting_with(world, KvOffByOne(right.shape, right.weights), **options)


def fp8_draft(world: World, **options: Any) -> SpeculativeDecoder:
    """The drafter computes in FP8 (e5m2), and declares the laws that it draws from.

    Seen: vLLM and SGLang, with quantised draft models.

    Raises:
        ValueError: the world drafts with something else than a small transformer.
    """
    coarse = Precision(weights=Float8.E5M2, activations=Float8.E5M2)
    return _drafting_with(world, QuantisedTransformer(_small_transformer(world), coarse), **options)


def fp8_target(world: World, **options: Any) -> SpeculativeDecoder:
    """The target computes in FP8, with a scale per token, and is compared with its own plain decoding.

    Seen: vLLM and SGLang, with FP8 checkpoints.
    """
    return SpeculativeDecoder(world, **options)


class Restarting(Accounting):
    """The process is restarted now and then: all counters begin at 0 again, and the page says when.

    Windows between two readings that hold a restart are void, and nothing is wrong with the counters.

    Seen: every engine in production.

    Args:
        draft_tokens: as for every accounting.
    """

    def __init__(self, draft_tokens: int) -> None:
        super().__init__(draft_tokens)
        self._served = 0

    def finish(self, **ended: int) -> None:
        """Count requests that ended, and begin anew behind the thousandth."""
        super().finish(**ended)
        self._served += ended["stopped"] + ended["at_length"]
        if self._served >= _RESTARTED_BEHIND:
            self._served = 0
            lives = self.counters.restarts + 1
            self.counters = Counters(accepted_per_position=(0,) * self._width, restarts=lives)


def batch_width_ties(world: World, **options: Any) -> SpeculativeDecoder:
    """At temperature 0 near ties flip with the width of the batch, in plain decoding as well.

    Seen: vLLM, SGLang and llama.cpp, whose kernels sum in another order for other widths.
    """
    return SpeculativeDecoder(world, **options)


def _drafting_with(world: World, model: Transformer, **options: Any) -> SpeculativeDecoder:
    return SpeculativeDecoder(replace(world, drafter=SmallModel(model=model)), **options)


def _small_transformer(world: World) -> Transformer:
    if not isinstance(model := _small_model(world).model, Transformer):
        raise ValueError(f"world {world.name} has no small transformer for a drafter; this control needs one")
    return model


def _small_model(world: World) -> SmallModel:
    if not isinstance(world.drafter, SmallModel):
        raise ValueError(f"world {world.name} has no small model for a drafter; this control needs one")
    return world.drafter


register_control("onehot-q-with-sampled-draft", control=onehot, build=onehot)
register_control("sampler-match", control=SamplerMatch, build=SamplerMatch)
register_control("processed-logprobs", control=ProcessedLogprobs, build=ProcessedLogprobs)
register_control("block-verification", control=block_verification, build=block_verification)
register_control("greedy-draft", control=greedy_draft, build=greedy_draft)
register_control("tree-drafting", control=tree_drafting, build=tree_drafting)
register_control("adaptive-length", control=adaptive_length, build=adaptive_length)
register_control("async-scheduling", control=async_scheduling, build=async_scheduling)
register_control("restart", control=Restarting, build=partial(SpeculativeDecoder, accounting=Restarting))
register_control("preemption", control=preempting, build=preempting)
register_control(
    "draft-only-kv-overtrim", control=draft_kv_overtrimmed, build=draft_kv_overtrimmed, world="transformer8"
)
register_control("fp8-draft", control=fp8_draft, build=fp8_draft, world="transformer8")
register_control("batch-width-ties", control=batch_width_ties, build=batch_width_ties, world="transformer8-bf16")
register_control("fp8-target", control=fp8_target, build=fp8_target, world="transformer8-fp8")
