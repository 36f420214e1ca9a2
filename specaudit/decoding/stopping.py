"""Where a completion ends: at EOS, at a stop token, behind a stop string, or at its cap."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.rules import Rules


@dataclass(frozen=True, kw_only=True)
class Trimmed:
    """What of each block leaves the engine.

    Attributes:
        emitted: number of tokens `[b]`; a stop token is the last one.
        stopped: whether a stop was found `[b]`.
        string: state of the search for stop strings behind them `[b]`.
    """

    emitted: IntArray
    stopped: BoolArray
    string: IntArray


class Stopping:
    """Cuts verified blocks behind their first stop. Each step is a method, so that a fault overrides one."""

    def __call__(
        self, out: IntArray, n_out: IntArray, rules: Rules, output_lengths: IntArray, string: IntArray
    ) -> Trimmed:
        """Trim the blocks of a batch.

        Args:
            out: verified tokens `[b, W]`, padded with −1.
            n_out: number of them `[b]`.
            rules: what ends each row.
            output_lengths: tokens that each row has emitted before `[b]`.
            string: state of each row's search for stop strings `[b]`.
        """
        found = self.stop_tokens(out, rules)
        states = None
        if rules.strings is not None:
            completed, states = self.stop_strings(out, rules, output_lengths, string)
            found |= completed
        found = self.heeded(found, n_out)
        stopped = np.asarray(found.any(axis=1))
        emitted = self.emitted(np.where(stopped, found.argmax(axis=1) + 1, n_out), n_out)
        if states is not None:
            string = states[np.arange(len(out)), emitted - 1]
        return Trimmed(emitted=emitted, stopped=stopped, string=string)

    def stop_tokens(self, out: IntArray, rules: Rules) -> BoolArray:
        """Find EOS and stop tokens `[b, W]`; they cannot come before `min_tokens`, as they are forbidden then."""
        return np.asarray((out >= 0) & rules.stops[np.arange(len(out))[:, None], out])

    def stop_strings(
        self, out: IntArray, rules: Rules, output_lengths: IntArray, string: IntArray
    ) -> tuple[BoolArray, IntArray]:
        """Find tokens that complete a stop string `[b, W]`, and the states of the search behind each `[b, W]`.

        The search begins behind the first `min_tokens` tokens, as in vLLM (`v1/engine/detokenizer.py`).
        """
        assert rules.strings is not None
        completed = np.zeros(out.shape, dtype=np.bool_)
        states = np.zeros_like(out)
        for i, tokens in enumerate(out.T):
            searched = (tokens >= 0) & (output_lengths + i >= rules.min_tokens)
            completed[:, i] = searched & (rules.strings.next[string, tokens] < 0)
            string = np.where(searched, rules.strings.step(string, tokens), string)
            states[:, i] = string
        return completed, states

    def heeded(self, found: BoolArray, n_out: IntArray) -> BoolArray:
        """Say which of the stops found `[b, W]` are heeded: all."""
        return found

    def emitted(self, through_stop: IntArray, n_out: IntArray) -> IntArray:
        """Say how many tokens leave the engine `[b]`: those through the stop, of `n_out`."""
        return through_stop
