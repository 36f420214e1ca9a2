"""What the rows of a step are, and what becomes of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.drafters.interface import Drafts, Sequences
from specaudit.decoding.history import History
from specaudit.decoding.rules import Rules
from specaudit.decoding.stopping import Trimmed
from specaudit.decoding.verify.verified import Verified


@dataclass(frozen=True, kw_only=True)
class Block:
    """The rows that speak in a step: those that come to the end of their tokens.

    Attributes:
        sequences: prompt and output of each; the target has not read the last token yet.
        prompt_lengths: tokens of the prompt `[b]`.
        rules: what each row asks for.
        grammar: state of each row's grammar `[b]`.
        num_draft: most drafts that each may make `[b]`.
    """

    sequences: Sequences
    prompt_lengths: IntArray
    rules: Rules
    grammar: IntArray
    num_draft: IntArray

    def __len__(self) -> int:
        return len(self.num_draft)

    @property
    def output_lengths(self) -> IntArray:
        """Tokens that each row has emitted `[b]`."""
        return self.sequences.lengths - self.prompt_lengths

    def history(self, drafts: IntArray, before: BoolArray) -> History:
        """Say what stands before each of `T` laws: the sequences, and of the drafts `[b, D]` some `[T, D]`."""
        return History(
            tokens=self.sequences.tokens,
            prompt_lengths=self.prompt_lengths,
            lengths=self.sequences.lengths,
            drafts=drafts,
            before=before,
            grammar=self.grammar,
        )

    def with_rules(self, **columns: Any) -> "Block":
        """Replace some of what the rows ask for."""
        return replace(self, rules=replace(self.rules, **columns))


@dataclass(frozen=True, kw_only=True)
class Executed:
    """What happened to the rows that spoke in a step, for whoever watches.

    Attributes:
        arrival: rank of each request among all that ever came `[b]`.
        block: the rows.
        drafts: what was drafted for them.
        p: the target's laws at the drafts and behind them `[b, K + 1, V]`.
        coins: the verifier's uniforms `[b, K + 1]`.
        verified: what it decided.
        trimmed: what of that left the engine.
        computed: tokens that the target read of each `[b]`.
        kept: tokens of those that it remembers `[b]`.
    """

    arrival: IntArray
    block: Block
    drafts: Drafts
    p: FloatArray
    coins: FloatArray
    verified: Verified
    trimmed: Trimmed
    computed: IntArray
    kept: IntArray

    @property
    def accepted(self) -> IntArray:
        """Accepted drafts of each row that left the engine `[b]`."""
        return np.minimum(self.verified.n_accepted, self.trimmed.emitted)
