"""Prompt lookup: what followed the last time these tokens were said."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.interface import Drafts, Law, Sequences


class PromptLookupDrafter:
    """Looks for the last tokens earlier in prompt and output, and proposes what followed them there.

    The longest match counts; of several equally long ones the earliest. A proposal is not drawn, hence its law
    is one-hot, and the verifier accepts it with the probability that the target gives it.

    Source: Saxena, "Prompt lookup decoding", 2023. The choice among matches is that of vLLM
    (`vllm/v1/spec_decode/ngram_proposer.py`: longest, then leftmost) and transformers
    (`PromptLookupCandidateGenerator`).

    Args:
        vocabulary_size: number of tokens `V`.
        min_match: fewest tokens that must agree.
        max_match: most tokens that are compared.

    Raises:
        ValueError: not 1 ≤ `min_match` ≤ `max_match`.
    """

    def __init__(self, vocabulary_size: int, *, min_match: int = 1, max_match: int = 3) -> None:
        if not 1 <= min_match <= max_match:
            raise ValueError(f"match lengths must satisfy 1 <= min <= max, got {min_match} and {max_match}")
        self.vocabulary_size = vocabulary_size
        self.min_match = min_match
        self.max_match = max_match

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Propose up to `num_draft` tokens for each sequence, none where nothing matches; see `Drafter`."""
        width = uniforms.shape[1]
        start = self.find(sequences.tokens, sequences.lengths)
        count = np.where(start < 0, 0, np.minimum(num_draft, sequences.lengths - start))
        column = np.arange(width)
        place = np.where(column < count[:, None], start[:, None] + column, 0)
        tokens = np.take_along_axis(sequences.tokens, place, axis=1) if count.any() else np.zeros_like(place)
        q = np.asarray(np.arange(self.vocabulary_size) == tokens[..., None], dtype=np.float64)
        return Drafts(tokens=tokens, q=q, count=count)

    def find(self, tokens: IntArray, lengths: IntArray) -> IntArray:
        """Find where each sequence of `tokens` `[b, H]` is continued by its past, `[b]`; −1 where nowhere.

        The continuation may overlap the tokens that were looked for, and ends where the sequence ends.
        """
        batch, longest = tokens.shape
        # At place j: how many tokens before j agree with the last tokens of the sequence.
        agreeing = np.zeros((batch, longest), dtype=np.int64)
        alive = np.arange(longest) < lengths[:, None]
        for back in range(1, min(self.max_match, longest - 1) + 1):
            suffix = np.take_along_axis(tokens, np.maximum(lengths[:, None] - back, 0), axis=1)
            alive[:, :back] = False
            alive[:, back:] &= tokens[:, :-back] == suffix
            agreeing += alive
        best = agreeing.max(axis=1, initial=0)
        return np.where(best >= self.min_match, agreeing.argmax(axis=1) if longest else -1, -1)

    def release(self, slots: IntArray) -> None:
        """Forget nothing: all that a lookup knows is in the sequence."""
