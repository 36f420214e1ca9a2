"""Blind parallel heads: Medusa, whose heads look ahead without knowing what the others say."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.fitting import Corpus
from specaudit.decoding.drafters.gradients import Node, Operand, add, linear, scale, silu, token_cross_entropy, total
from specaudit.decoding.drafters.heads import HeadDrafter
from specaudit.decoding.drafters.interface import Drafts, Law, Sequences
from specaudit.decoding.models.transformer import Transformer


class ParallelHeadsDrafter(HeadDrafter):
    """Head i predicts the token i + 1 places behind the next one, from the hidden state alone.

    The next token, t + 1, is the target's own; head i says t + 1 + i without having seen it, nor any draft. Each is
    a residual block `h + SiLU(W h)` and an LM head of its own, and begins as the target's: W at 0.

    Source: Cai et al., "Medusa: simple LLM inference acceleration framework with multiple decoding heads",
    ICML 2024, section 2.1.

    Args:
        target: gives the heads their first weights.
        heads: number of heads; later drafts are not made.
        discount: weight of each head's loss relative to the one before.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    def __init__(self, target: Transformer, *, heads: int = 4, discount: float = 0.8, greedy: bool = False) -> None:
        super().__init__(target, greedy=greedy)
        width = target.shape.width
        self.blocks = [Node(np.zeros((width, width))) for _ in range(heads)]
        self.lm_heads = [Node(target.weights.head) for _ in range(heads)]
        self.discount = discount
        self.window = heads + 2

    @property
    def parameters(self) -> list[Node]:
        """The weights to fit."""
        return [*self.blocks, *self.lm_heads]

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Propose `num_draft` tokens for each sequence, at most one per head; see `Drafter`."""
        return super().draft(sequences, np.minimum(num_draft, len(self.blocks)), uniforms, law)

    def begin(self, features: FloatArray) -> Operand:
        """Take the hidden state that the LM head reads."""
        return self.last_layer(features)

    def advance(self, i: int, state: Operand, tokens: IntArray) -> tuple[Operand, Node]:
        """Ask head `i`; the state stays, and the tokens are not looked at."""
        return state, linear(add(state, silu(linear(state, self.blocks[i]))), self.lm_heads[i])

    def loss(self, windows: Corpus) -> Node:
        """Sum over the heads of the cross entropy of their tokens, discounted from head to head."""
        return total(
            scale(token_cross_entropy(logits, windows.tokens[:, i + 2]), self.discount**i)
            for i, logits in enumerate(self.unroll(windows, len(self.blocks)))
        )
