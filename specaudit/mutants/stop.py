"""Faults of where a completion ends."""

from functools import partial

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.history import History
from specaudit.decoding.processors import Processors
from specaudit.decoding.rules import Rules
from specaudit.decoding.stopping import Stopping
from specaudit.mutants.registry import register
from specaudit.mutants.verification import OnVerification


class EosOnlyLastChecked(Stopping):
    """Only the last token of a block is compared with the stop tokens; one inside an accepted block is overlooked.

    Seen: huggingface/transformers issue 47912.

    Killed by: GRD3 (sampled).
    """

    def heeded(self, found: BoolArray, n_out: IntArray) -> BoolArray:
        """Overlook all but the last token."""
        return np.asarray(found & (np.arange(found.shape[1]) == n_out[:, None] - 1))


class StopInsideBlockKept(Stopping):
    """A stop inside an accepted block ends the request, but the block's tokens behind it are emitted.

    Seen: a classic of engines that look for stops when the block is out.

    Killed by: GRD3 (sampled).
    """

    def emitted(self, through_stop: IntArray, n_out: IntArray) -> IntArray:
        """Emit the block as a whole."""
        return n_out


class _WithoutMinTokens(Processors):
    """Forget min_tokens."""

    def min_tokens(self, scores: FloatArray, rules: Rules, history: History) -> None:
        """Forbid nothing."""


class MinTokensIgnored(OnVerification):
    """On verification rows the stop tokens are not forbidden before min_tokens.

    Seen: vllm-project/vllm issue 26317.

    Killed by: GRD3 (sampled).
    """

    faulty = _WithoutMinTokens()


register(
    "eos-only-last-checked",
    family="stop",
    fault=EosOnlyLastChecked,
    build=partial(SpeculativeDecoder, stopping=EosOnlyLastChecked()),
    world="cycle16",
)
register(
    "stop-inside-block-kept",
    family="stop",
    fault=StopInsideBlockKept,
    build=partial(SpeculativeDecoder, stopping=StopInsideBlockKept()),
    world="cycle16",
)
register("min-tokens-ignored", family="stop", fault=MinTokensIgnored, build=MinTokensIgnored, world="cycle16")
