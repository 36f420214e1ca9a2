"""Feature heads: EAGLE, which predicts the target's next hidden state, and what EAGLE-3 changed in it."""

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.fitting import Corpus
from specaudit.decoding.drafters.gradients import (
    Node,
    Operand,
    add,
    cross_entropy,
    linear,
    rms_norm,
    scale,
    smooth_l1,
    total,
)
from specaudit.decoding.drafters.heads import HeadDrafter, Layer, random_matrix
from specaudit.decoding.models.transformer import Transformer


class EagleDrafter(HeadDrafter):
    """Predicts the target's next hidden state from the last one and the token that was drawn behind it.

    The drawn token resolves what the hidden state leaves open. The target's LM head turns the predicted state
    into logits, and the prediction stands in for the true state at the next draft.

    Source: Li, Wei, Zhang, Zhang, "EAGLE: speculative sampling requires rethinking feature uncertainty",
    ICML 2024, section 4.

    Args:
        target: lends its embedding and its LM head.
        seed: of the random weights, which are to be fitted.
        hidden: width of the MLP.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    window = 2

    def __init__(self, target: Transformer, *, seed: int, hidden: int = 128, greedy: bool = False) -> None:
        super().__init__(target, greedy=greedy)
        self.layer = Layer.random(np.random.default_rng(seed), target.shape.width, hidden)

    @property
    def parameters(self) -> list[Node]:
        """The weights to fit."""
        return self.layer.parameters

    def begin(self, features: FloatArray) -> Operand:
        """Take the hidden state that the LM head reads."""
        return self.last_layer(features)

    def advance(self, i: int, state: Operand, tokens: IntArray) -> tuple[Operand, Node]:
        """Predict the next hidden state, and let the LM head read it."""
        feature = self.layer(state, self.target.embed(tokens))
        return feature, self.lm_head(feature)

    def loss(self, windows: Corpus) -> Node:
        """Smooth L1 of the predicted state, and a tenth of the cross entropy under the target's law.

        Source: the same, section 4.2.
        """
        feature, logits = self.advance(0, self.begin(windows.features[:, 0]), windows.tokens[:, 1])
        regression = smooth_l1(feature, self.last_layer(windows.features[:, 1]))
        return add(regression, scale(cross_entropy(logits, windows.laws[:, 1]), 0.1))


class Eagle3Drafter(HeadDrafter):
    """EAGLE with three changes.

    - It predicts tokens directly: its state need not resemble the target's, only serve the next token.
    - It begins from the features of several layers, fused by one projection.
    - It is trained on what it will draft from: from the second draft on its own states, not the target's.

    Source: Li, Wei, Zhang, Zhang, "EAGLE-3: scaling up inference acceleration of large language models via
    training-time test", 2025, section 3.

    Args:
        target: lends its embedding and its LM head.
        seed: of the random weights, which are to be fitted.
        unrolled: number of drafts that it is trained to make in a row.
        hidden: width of the MLP.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    def __init__(
        self, target: Transformer, *, seed: int, unrolled: int = 4, hidden: int = 128, greedy: bool = False
    ) -> None:
        super().__init__(target, greedy=greedy)
        rng = np.random.default_rng(seed)
        width = target.shape.width
        self.fuse = random_matrix(rng, (len(target.feature_layers) + 1) * width, width)
        self.layer = Layer.random(rng, width, hidden)
        self.final_norm = Node(np.ones(width))
        self.unrolled = unrolled
        self.window = unrolled + 1

    @property
    def parameters(self) -> list[Node]:
        """The weights to fit."""
        return [self.fuse, *self.layer.parameters, self.final_norm]

    def begin(self, features: FloatArray) -> Operand:
        """Fuse the features of several layers."""
        return linear(features, self.fuse)

    def advance(self, i: int, state: Operand, tokens: IntArray) -> tuple[Operand, Node]:
        """Carry the state on, and let the LM head read it, normed."""
        state = self.layer(state, self.target.embed(tokens))
        return state, self.lm_head(rms_norm(state, self.final_norm))

    def loss(self, windows: Corpus) -> Node:
        """Mean cross entropy under the target's laws, over a run of drafts from the head's own states."""
        drafts = enumerate(self.unroll(windows, self.unrolled), start=1)
        return scale(total(cross_entropy(logits, windows.laws[:, i]) for i, logits in drafts), 1 / self.unrolled)
