"""Faults of what is reported beside the tokens, and of the mask that a report relies on."""

from dataclasses import replace

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.generation import Generation
from specaudit.decoding.history import History
from specaudit.decoding.parameters import TO_THE_END, SamplingParameters
from specaudit.decoding.rules import RuleTable
from specaudit.decoding.worlds import SmallModel
from specaudit.mutants.registry import register


class GrammarBonusUnmasked(SpeculativeDecoder):
    """The law of the bonus token skips the grammar's mask.

    Seen: vllm-project/vllm issue 44297.

    Killed by: LAW5 (sampled).
    """

    def target(self, block: Block, drafts: Drafts, logits: FloatArray) -> FloatArray:
        """Take the bonus row as it is without a grammar."""
        p = super().target(block, drafts, logits)
        drafted = np.flatnonzero(drafts.count)
        bonus = drafted, drafts.count[drafted]
        p[bonus] = super().target(block.with_rules(grammars=None), drafts, logits)[bonus]
        return p


class LogprobOfDraft(SpeculativeDecoder):
    """For accepted drafts the drafter's log-probabilities are reported; the tokens are right.

    Seen: a class of engines that keep what the drafter returned for a token that is accepted.

    Killed by: LGP1 (scored).
    """

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Report the drafter's laws where a draft was accepted; a drafter that is no model has none."""
        reported, maker = super().logprobs(prompts, generation, parameters), self.world.drafter
        if not isinstance(maker, SmallModel):
            return reported
        drafter = SpeculativeDecoder(replace(self.world, target=maker.model), draft_tokens=0)
        return np.where(accepted(generation)[..., None], drafter.scores(prompts, generation.tokens), reported)


class ZeroLogprobs(SpeculativeDecoder):
    """Tokens of verification steps are reported with log-probability 0 and no likely tokens beside them.

    Undrafted steps report what they should.

    Seen: ggml-org/llama.cpp issue 27972, measured in a release; vllm-project/vllm issue 17876.

    Killed by: LGP1 (scored).
    """

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Call every token of a verification step certain."""
        return np.where(verified(generation)[..., None], 0.0, super().logprobs(prompts, generation, parameters))

    def listed(self, generation: Generation, wanted: int) -> IntArray:
        """List nothing there."""
        return np.where(verified(generation), 0, super().listed(generation, wanted))


class LogprobRowShifted(SpeculativeDecoder):
    """Tokens of verification steps are reported with the law of the position before their own.

    Seen: vllm-project/vllm pull request 33391, where rows of accepted tokens are picked from the flattened batch.

    Killed by: LGP1 (scored).
    """

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Read one row too early; a first token comes from prefill, so that there always is one."""
        reported = super().logprobs(prompts, generation, parameters)
        return np.where(verified(generation)[..., None], np.roll(reported, 1, axis=1), reported)


class LogprobsModeMixed(SpeculativeDecoder):
    """Undrafted steps report raw log-probabilities, verification steps processed ones.

    Seen: vllm-project/vllm pull request 30846, where the rejection sampler changed the raw logits in place.

    Killed by: LGP1 (scored).
    """

    def logprobs(self, prompts: IntArray, generation: Generation, parameters: SamplingParameters) -> FloatArray:
        """Report the laws that the drafts were judged by."""
        raw = super().logprobs(prompts, generation, parameters)
        return np.where(verified(generation)[..., None], processed(self, prompts, generation, parameters), raw)


def processed(
    decoder: SpeculativeDecoder, prompts: IntArray, generation: Generation, parameters: SamplingParameters
) -> FloatArray:
    """Return the log-probabilities behind the filters at every emitted position `[B, L, V]`."""
    raw, tokens = decoder.scores(prompts, generation.tokens), generation.tokens
    table = RuleTable(decoder.world.vocabulary_size)
    rules = table.rules(np.full(len(prompts), table.number(parameters, TO_THE_END)))
    lengths = np.full(len(prompts), prompts.shape[1])
    history = History(
        tokens=prompts,
        prompt_lengths=lengths,
        lengths=lengths,
        drafts=tokens[:, :-1],
        before=np.tri(tokens.shape[1], tokens.shape[1] - 1, k=-1, dtype=np.bool_),
        grammar=rules.grammar,
    )
    with np.errstate(divide="ignore"):
        return np.log(decoder.processors(raw, rules, history))


def accepted(generation: Generation) -> BoolArray:
    """Whether each emitted token is an accepted draft `[B, L]`."""
    return _leading(generation, generation.accepted_per_step)


def verified(generation: Generation) -> BoolArray:
    """Whether each emitted token left a step in which drafts were verified `[B, L]`."""
    return _leading(generation, np.where(generation.drafted_per_step > 0, generation.emitted_per_step, 0))


def _leading(generation: Generation, marked: IntArray) -> BoolArray:
    """Which emitted tokens `[B, L]` are among the first so many of their step `[B, S]`."""
    taken = generation.emitted_per_step > 0
    emitted, kept = generation.emitted_per_step[taken], marked[taken]
    place = np.arange(emitted.sum()) - np.repeat(emitted.cumsum() - emitted, emitted)
    found = np.zeros(generation.tokens.shape, dtype=np.bool_)
    found[generation.tokens >= 0] = place < np.repeat(kept, emitted)
    return found


register("grammar-bonus-unmasked", family="report", fault=GrammarBonusUnmasked, build=GrammarBonusUnmasked)
register("logprob-of-draft", family="report", fault=LogprobOfDraft, build=LogprobOfDraft)
register("zero-logprobs", family="report", fault=ZeroLogprobs, build=ZeroLogprobs)
register("logprob-row-shifted", family="report", fault=LogprobRowShifted, build=LogprobRowShifted)
register("logprobs-mode-mixed", family="report", fault=LogprobsModeMixed, build=LogprobsModeMixed)
