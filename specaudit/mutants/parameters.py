"""Faults of the sampling parameters, on the rows that verify drafts; undrafted rows are right."""

from dataclasses import replace
from functools import partial

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.history import History
from specaudit.decoding.processors import Processors
from specaudit.decoding.rules import Rules
from specaudit.mutants.registry import register
from specaudit.mutants.verification import OnVerification


class TargetUnwarped(SpeculativeDecoder):
    """Drafts are judged by the target's law at temperature 1 and without top-p.

    Seen: vllm-project/vllm issue 9834.

    Killed by: LAW1 (sampled).
    """

    def judged(self, block: Block) -> Block:
        """Forget temperature and top-p; temperature 0 is decoded in its own way."""
        drafted, rules = block.num_draft > 0, block.rules
        return block.with_rules(
            temperature=np.where(drafted & ~rules.greedy, 1, rules.temperature),
            top_p=np.where(drafted, 1, rules.top_p),
        )


class UninitialisedParameters(SpeculativeDecoder):
    """Drafts are judged under the sampling parameters of the row before, the first ones under what the memory holds.

    Seen: vllm-project/vllm issue 55005, measured in a release of the CPU back end.

    Killed by: GRD1, SED2 (sampled).
    """

    def judged(self, block: Block) -> Block:
        """Read the parameters one row with drafts too early; a zeroed memory holds temperature 0."""
        drafted = np.flatnonzero(block.num_draft)
        if not drafted.size:
            return block
        filters = {name: getattr(block.rules, name).copy() for name in ("temperature", "top_k", "top_p")}
        for column in filters.values():
            column[drafted] = np.roll(column[drafted], 1)
        filters["temperature"][drafted[0]] = 0
        return block.with_rules(**filters)


class FilterOrderSwapped(OnVerification):
    """On verification rows top-p is taken before top-k, while plain decoding does it the other way round.

    Seen: sgl-project/sglang issue 36173.

    Killed by: LAW1 (sampled).
    """

    faulty = Processors(("temperature", "min_p", "top_p", "top_k"))


class LogitBiasDropped(SpeculativeDecoder):
    """The logit bias is not applied to verification rows.

    Seen: sgl-project/sglang issue 10617; vllm-project/vllm issue 38202.

    Killed by: LAW1, LAW5 (sampled).
    """

    def judged(self, block: Block) -> Block:
        """Forget the bias."""
        bias = block.rules.bias
        return block if bias is None else block.with_rules(bias=np.where(block.num_draft[:, None] > 0, 0, bias))


class PenaltiesDropped(SpeculativeDecoder):
    """Repetition, presence and frequency penalties are ignored on verification rows.

    Seen: vllm-project/vllm issue 18902.

    Killed by: LAW1, LAW5 (sampled).
    """

    def judged(self, block: Block) -> Block:
        """Forget the penalties."""
        drafted, rules = block.num_draft > 0, block.rules
        return block.with_rules(
            repetition=np.where(drafted, 1, rules.repetition),
            presence=np.where(drafted, 0, rules.presence),
            frequency=np.where(drafted, 0, rules.frequency),
        )


class SampledRequestGreedy(SpeculativeDecoder):
    """Rows with drafts take the target's argmax although the request has a temperature.

    Seen: EricLBuehler/mistral.rs issue 2424; NVIDIA/TensorRT-LLM issue 19390.

    Killed by: LAW1 (sampled).
    """

    def greedy_rows(self, block: Block) -> BoolArray:
        """Call every row with drafts greedy."""
        return np.asarray(super().greedy_rows(block) | (block.num_draft > 0))


class GreedySentinelMismatch(SpeculativeDecoder):
    """In a batch with sampled rows, rows at temperature 0 are sampled at temperature 1.

    Where the batch is of one kind, nothing is wrong.

    Seen: vllm-project/vllm issue 27077, where one side marks greedy rows by −1 and the other looks for 0.

    Killed by: GRD1, SED2 (sampled).
    """

    def judged(self, block: Block) -> Block:
        """Overlook the greedy rows of a mixed batch."""
        greedy = block.rules.greedy
        if greedy.all() or not block.num_draft.any():
            return block
        return block.with_rules(temperature=np.where(greedy, 1, block.rules.temperature))


class BadWordsOffByOne(Processors):
    """Whether a bad word has been begun is read one token too early, so that it is completed behind a draft.

    Seen: vllm-project/vllm issue 52311.

    Killed by: LAW1, LAW5 (sampled).
    """

    def bad_words(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Look at the drafts before the one in front."""
        before = np.vstack([history.before[:1], history.before[:-1]])
        super().bad_words(scores, rules, replace(history, before=before))


register("uninitialised-parameters", family="rule", fault=UninitialisedParameters, build=UninitialisedParameters)
register("target-unwarped", family="parameters", fault=TargetUnwarped, build=TargetUnwarped)
register("filter-order-swapped", family="parameters", fault=FilterOrderSwapped, build=FilterOrderSwapped)
register("logit-bias-dropped", family="parameters", fault=LogitBiasDropped, build=LogitBiasDropped)
register("penalties-dropped", family="parameters", fault=PenaltiesDropped, build=PenaltiesDropped)
register("sampled-request-greedy", family="parameters", fault=SampledRequestGreedy, build=SampledRequestGreedy)
register("greedy-sentinel-mismatch", family="parameters", fault=GreedySentinelMismatch, build=GreedySentinelMismatch)
register(
    "bad-words-off-by-one",
    family="parameters",
    fault=BadWordsOffByOne,
    build=partial(SpeculativeDecoder, processors=BadWordsOffByOne()),
)
