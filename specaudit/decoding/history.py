"""What stands before the tokens of a verification step: prompt, output, and the drafts in front."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import BoolArray, IntArray
from specaudit.decoding.automata import Automata


@dataclass(frozen=True, kw_only=True)
class History:
    """What has been said before each of `T` laws of a batch.

    Attributes:
        tokens: prompt and emitted tokens `[b, H]`, padded on the right.
        prompt_lengths: how many of them are the prompt `[b]`.
        lengths: how many there are `[b]`.
        drafts: the drafts of the block `[b, D]`.
        before: whether draft `d` stands before law `t` `[T, D]`.
        grammar: state of each row's grammar behind the emitted tokens `[b]`.
    """

    tokens: IntArray
    prompt_lengths: IntArray
    lengths: IntArray
    drafts: IntArray
    before: BoolArray
    grammar: IntArray

    @classmethod
    def nothing(cls, grammar: IntArray) -> "History":
        """Return the history of rows that have neither prompt nor output, before one law, given their grammars."""
        none = np.zeros_like(grammar)
        no_tokens = np.zeros((len(grammar), 0), dtype=np.int64)
        return cls(
            tokens=np.full((len(grammar), 1), -1),
            prompt_lengths=none,
            lengths=none,
            drafts=no_tokens,
            before=np.zeros((1, 0), dtype=np.bool_),
            grammar=grammar,
        )

    def rows(self, index: IntArray) -> "History":
        """Select rows of the batch."""
        return History(
            tokens=self.tokens[index],
            prompt_lengths=self.prompt_lengths[index],
            lengths=self.lengths[index],
            drafts=self.drafts[index],
            before=self.before,
            grammar=self.grammar[index],
        )

    @property
    def output_lengths(self) -> IntArray:
        """Tokens of the output before each law, drafts included `[b, T]`."""
        return np.asarray((self.lengths - self.prompt_lengths)[:, None] + self.before.sum(axis=1))

    def in_prompt(self, vocabulary_size: int) -> BoolArray:
        """Whether each token stands in the prompt `[b, V]`."""
        return self._counts(np.arange(self.tokens.shape[1]) < self.prompt_lengths[:, None], vocabulary_size) > 0

    def output_counts(self, vocabulary_size: int) -> IntArray:
        """How often each token stands in the output before each law `[b, T, V]`."""
        column = np.arange(self.tokens.shape[1])
        emitted = (column >= self.prompt_lengths[:, None]) & (column < self.lengths[:, None])
        drafted = self.drafts[..., None] == np.arange(vocabulary_size)
        counts: IntArray = self._counts(emitted, vocabulary_size)[:, None] + self.before.astype(np.int64) @ drafted
        return counts

    def ends_with(self, word: tuple[int, ...]) -> BoolArray:
        """Whether the output before each law ends with those tokens `[b, T]`."""
        size = len(word)
        place = self.lengths[:, None] - size + np.arange(size)
        inside = place >= self.prompt_lengths[:, None]
        tail = np.where(inside, np.take_along_axis(self.tokens, np.where(inside, place, 0), axis=1), -1)
        last = np.broadcast_to(tail[:, None], (len(tail), len(self.before), size)).copy()
        for draft, before in zip(self.drafts.T, self.before.T, strict=True):
            last[:, before, :-1] = last[:, before, 1:]
            last[:, before, -1:] = draft[:, None, None]
        return np.asarray((last == word).all(axis=2))

    def states(self, grammars: Automata) -> IntArray:
        """State of each row's grammar before each law `[b, T]`."""
        states = np.repeat(self.grammar[:, None], len(self.before), axis=1)
        for draft, before in zip(self.drafts.T, self.before.T, strict=True):
            states[:, before] = grammars.step(states[:, before], draft[:, None])
        return states

    def _counts(self, counted: BoolArray, vocabulary_size: int) -> IntArray:
        """How often each token stands in the marked places `[b, H] -> [b, V]`."""
        row, column = np.nonzero(counted)
        cells = row * vocabulary_size + self.tokens[row, column]
        return np.bincount(cells, minlength=len(counted) * vocabulary_size).reshape(len(counted), vocabulary_size)
