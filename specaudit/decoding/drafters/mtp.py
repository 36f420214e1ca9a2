"""Multi-token prediction: modules that a target is trained with, kept as its drafter."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.fitting import Corpus
from specaudit.decoding.drafters.gradients import Node, Operand, rms_norm, scale, token_cross_entropy, total
from specaudit.decoding.drafters.heads import HeadDrafter, Layer
from specaudit.decoding.models.transformer import Transformer


class MultiTokenDrafter(HeadDrafter):
    """One module per depth, each reading the state of the one before and the token that came next.

    Module k joins `[RMSNorm(h); RMSNorm(embedding)]` by its projection, passes it through its block, and hands
    the state on; the target's final norm and LM head, shared by all modules as the embedding is, read it. Drafts
    beyond the last depth go through the modules again, as deployed engines do.

    Source: DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 2.2, equations 21 to 25.

    Args:
        target: lends its embedding, its final norm and its LM head.
        seed: of the random weights, which are to be fitted.
        depths: number of modules.
        weight: of this loss beside the target's own, λ.
        hidden: width of the modules' MLP.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    def __init__(
        self,
        target: Transformer,
        *,
        seed: int,
        depths: int = 2,
        weight: float = 0.3,
        hidden: int = 128,
        greedy: bool = False,
    ) -> None:
        super().__init__(target, greedy=greedy)
        rng = np.random.default_rng(seed)
        self.modules = [Layer.random(rng, target.shape.width, hidden) for _ in range(depths)]
        self.weight = weight
        self.window = depths + 2

    @property
    def parameters(self) -> list[Node]:
        """The weights to fit."""
        return [node for module in self.modules for node in module.parameters]

    def begin(self, features: FloatArray) -> Operand:
        """Take the hidden state that the LM head reads."""
        return self.last_layer(features)

    def advance(self, i: int, state: Operand, tokens: IntArray) -> tuple[Operand, Node]:
        """Pass the state through the module of this depth, and let the shared head read it."""
        state = self.modules[min(i, len(self.modules) - 1)](state, self.target.embed(tokens))
        return state, self.lm_head(rms_norm(state, self.target.weights.final_norm))

    def loss(self, windows: Corpus) -> Node:
        """λ times the mean over the depths of the cross entropy of the tokens: `λ/D · Σ_k L_k`.

        Module k predicts the token k + 1 places ahead, given the true ones before it.
        """
        depths = len(self.modules)
        losses = (
            token_cross_entropy(logits, windows.tokens[:, k + 1])
            for k, logits in enumerate(self.unroll(windows, depths), start=1)
        )
        return scale(total(losses), self.weight / depths)
