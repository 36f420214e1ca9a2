"""Faults of the counters; the tokens are right, but where acceptance itself is made up."""

from functools import partial
from typing import Any

import numpy as np

from specaudit.decoding.accounting import Accounting, Step
from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.batch import Rows
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.generation import Generation
from specaudit.decoding.scheduler import Scheduling
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.rows import Rows as LawRows
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import World
from specaudit.mutants.registry import Dose, register


class CountPastStop(Accounting):
    """Accepted drafts are counted before the block is cut at a stop.

    Seen: vllm-project/vllm issue 56101.

    Killed by: CTR4 (text).
    """

    def kept(self, step: Step) -> IntArray:
        """Count what the verifier accepted."""
        return step.verified


class BonusInNumerator(Accounting):
    """The bonus token counts as an accepted draft, so the acceptance rate can exceed 1.

    Seen: sgl-project/sglang, repaired by pull request 23530.

    Killed by: CTR1, CTR2 (text).
    """

    def accepted(self, step: Step) -> int:
        """Count the tokens that follow a fully accepted draft as well."""
        bonus = (step.drafted > 0) & (step.emitted > step.drafted)
        return super().accepted(step) + int(np.count_nonzero(bonus))


class MatchCounts(Accounting):
    """Counts the drafts that pass their own test, which its decoder notes before each step is recorded."""

    passed: BoolArray

    def accepted(self, step: Step) -> int:
        """Count all that passed."""
        return int(self.passed.sum())

    def accepted_per_position(self, step: Step) -> tuple[int, ...]:
        """Count those that passed at each position."""
        counts = self.passed.sum(axis=0).tolist()
        return (*counts, *[0] * (len(self.counters.accepted_per_position) - len(counts)))


class NonprefixAcceptCount(SpeculativeDecoder):
    """Drafts that pass their own test behind a rejection count as accepted.

    Seen: the counters of vLLM's first engine (V0).

    Killed by: CTR2 (text).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Note which drafts pass by themselves."""
        width = drafts.tokens.shape[1]
        q_drawn, p_drawn = (
            np.take_along_axis(laws[:, :width], drafts.tokens[..., None], axis=2)[..., 0] for laws in (drafts.q, p)
        )
        passed = (coins[:, :width] * q_drawn < p_drawn) & (np.arange(width) < drafts.count[:, None])
        assert isinstance(self.accounting, MatchCounts)
        self.accounting.passed = passed
        return super().verify(block, drafts, p, coins)


class PaddedDraftsCounted(Accounting):
    """A step without drafts, padded with placeholders, counts as one in which all of K drafts were rejected.

    Seen: vllm-project/vllm issue 34734.

    Killed by: CTR5 (text).
    """

    def drafted(self, step: Step) -> IntArray:
        """Count K drafts for every row."""
        return np.full_like(step.drafted, len(self.counters.accepted_per_position))


class ReplayCounted(Accounting):
    """Tokens that are read again after a preemption count as accepted drafts.

    Seen: ggml-org/llama.cpp issue 26320, after the rollback of a recurrent state.

    Killed by: CTR2 (text).
    """

    def accepted(self, step: Step) -> int:
        """Count the replayed tokens as well."""
        return super().accepted(step) + step.replayed


class PerPositionOfOneRank(Accounting):
    """Accepted drafts per position are those of one data-parallel rank of two, all other counters of both.

    Seen: vllm-project/speculators issue 1095.

    Killed by: CTR2 (text).
    """

    def accepted_per_position(self, step: Step) -> tuple[int, ...]:
        """Count every other row."""
        mine = slice(None, None, 2)
        return super().accepted_per_position(
            Step(drafted=step.drafted[mine], verified=step.verified[mine], emitted=step.emitted[mine])
        )


class SpecSilentlyOff(SpeculativeDecoder):
    """Nothing is ever drafted, though the configuration says K drafts per step.

    Seen: ggml-org/llama.cpp, where a draft model without a speculation type does not speculate.

    Killed by: CTR5 (text).
    """

    def num_draft(self, rows: Rows, running: int) -> IntArray:
        """Draft nothing."""
        return np.zeros_like(rows.lengths)


class SyntheticAcceptance(SpeculativeDecoder):
    """Drafts are accepted at a fixed rate by coin, whatever the target says of them: a mode for load tests.

    Seen: vllm-project/vllm, rejection_sample_method `synthetic`.

    Killed by: CTR5 (text).

    Args:
        world: as for every decoder.
        dose: share of the drafts that is accepted where the drafts before are.
        options: as for every decoder.
    """

    def __init__(self, world: World, *, dose: float, **options: Any) -> None:
        super().__init__(world, verifier=AcceptingByCoin(dose), **options)

    def greedy_rows(self, block: Block) -> BoolArray:
        """Judge drafts at temperature 0 by coin as well."""
        return np.asarray(super().greedy_rows(block) & (block.num_draft == 0))


class AcceptingByCoin(ChainVerifier):
    """Accepts each draft with the same probability."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def accepted(self, draft: IntArray, q: LawRows, p: LawRows, coins: FloatArray) -> BoolArray:
        """Toss."""
        return np.asarray(coins < self.rate)


class RejectedTokensBilled(SpeculativeDecoder):
    """The usage that is reported counts rejected drafts as well.

    Seen: a class of billing by computed tokens.

    Killed by: CTR4 (text).
    """

    def billed(self, generation: Generation) -> IntArray:
        """Bill the drafts that were not emitted, too."""
        return generation.lengths + generation.drafted - generation.accepted


class LastStepUncounted(SpeculativeDecoder):
    """What an answer counts of its own speculation lacks the last step: its drafts, and those accepted of them.

    Seen: OpenVINO GenAI 2026.4.1, `ExtendedPerfMetrics` of a pipeline with a draft model.

    Killed by: CTR4 (text).
    """

    def told(self, generation: Generation) -> tuple[IntArray, IntArray]:
        """Leave the last step out."""
        columns = np.arange(generation.drafted_per_step.shape[1])
        last = columns == generation.steps[:, None] - 1
        drafted, accepted = super().told(generation)
        return np.where(last, 0, drafted), np.where(last, 0, accepted)


_PRESSED = Scheduling(kv_tokens=256)
"""So little memory that a few dozen requests at once preempt each other."""

register(
    "count-past-stop",
    family="counters",
    fault=CountPastStop,
    build=partial(SpeculativeDecoder, accounting=CountPastStop),
)
register(
    "bonus-in-numerator",
    family="counters",
    fault=BonusInNumerator,
    build=partial(SpeculativeDecoder, accounting=BonusInNumerator),
)
register(
    "nonprefix-accept-count",
    family="counters",
    fault=NonprefixAcceptCount,
    build=partial(NonprefixAcceptCount, accounting=MatchCounts),
)
register(
    "padded-drafts-counted",
    family="counters",
    fault=PaddedDraftsCounted,
    build=partial(SpeculativeDecoder, accounting=PaddedDraftsCounted),
)
register(
    "replay-counted",
    family="counters",
    fault=ReplayCounted,
    build=partial(SpeculativeDecoder, accounting=ReplayCounted, limits=_PRESSED),
)
register(
    "perpos-dp-overwrite",
    family="counters",
    fault=PerPositionOfOneRank,
    build=partial(SpeculativeDecoder, accounting=PerPositionOfOneRank),
)
register("spec-silently-off", family="counters", fault=SpecSilentlyOff, build=SpecSilentlyOff)
register(
    "synthetic-acceptance",
    family="counters",
    fault=SyntheticAcceptance,
    build=SyntheticAcceptance,
    dose=Dose(default=0.8, low=0.0, high=1.0),
)
register("last-step-uncounted", family="counters", fault=LastStepUncounted, build=LastStepUncounted)
register("rejected-tokens-billed", family="counters", fault=RejectedTokensBilled, build=RejectedTokensBilled)
