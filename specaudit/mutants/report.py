"""Faults of what is reported beside the tokens, and of the mask that a report relies on."""

from dataclasses import replace

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.generation import Generation
from specaudit.decoding.worlds import SmallModel
from specaudit.mutants.registry import register


class GrammarBonusUnmasked(SpeculativeDecoder):
    """The law of the bonus token skips the grammar's mask.

    Seen: vllm-project/vllm issue 44297.
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
    """

    def logprobs(self, prompts: IntArray, generation: Generation) -> FloatArray:
        """Report the drafter's laws where a draft was accepted; a drafter that is no model has none."""
        reported, maker = super().logprobs(prompts, generation), self.world.drafter
        if not isinstance(maker, SmallModel):
            return reported
        drafter = SpeculativeDecoder(replace(self.world, target=maker.model), draft_tokens=0)
        return np.where(accepted(generation)[..., None], drafter.logprobs(prompts, generation), reported)


def accepted(generation: Generation) -> BoolArray:
    """Whether each emitted token is an accepted draft `[B, L]`."""
    taken = generation.emitted_per_step > 0
    emitted, kept = generation.emitted_per_step[taken], generation.accepted_per_step[taken]
    place = np.arange(emitted.sum()) - np.repeat(emitted.cumsum() - emitted, emitted)
    found = np.zeros(generation.tokens.shape, dtype=np.bool_)
    found[generation.tokens >= 0] = place < np.repeat(kept, emitted)
    return found


register("grammar-bonus-unmasked", family="report", fault=GrammarBonusUnmasked, build=GrammarBonusUnmasked)
register("logprob-of-draft", family="report", fault=LogprobOfDraft, build=LogprobOfDraft)
