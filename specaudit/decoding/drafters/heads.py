"""What the heads have in common: they read the target's hidden state, and borrow its embedding and its LM head."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.drafters.fitting import Corpus
from specaudit.decoding.drafters.gradients import Node, Operand, add, concatenate, linear, multiply, rms_norm, silu
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.drafters.logits import LogitDrafter
from specaudit.decoding.models.interface import BOS
from specaudit.decoding.models.transformer import Transformer


class HeadDrafter(LogitDrafter):
    """A head on the target, which carries a state from one draft to the next.

    The state begins as the target's features at the token before the last one, and is advanced over the last
    token and each draft. A head sees this one place, not the sequence: attention would have nothing to choose
    from, so a head's layer is its MLP alone.

    Args:
        target: lends its embedding and its LM head.
        greedy: propose the most likely tokens, with one-hot laws.
    """

    def __init__(self, target: Transformer, *, greedy: bool = False) -> None:
        super().__init__(target.vocabulary_size, greedy=greedy)
        self.target = target

    window: int
    """Number of tokens, one after the other, that the loss looks at."""

    @property
    @abstractmethod
    def parameters(self) -> list[Node]:
        """The head's own weights, to be fitted."""

    @abstractmethod
    def loss(self, windows: Corpus) -> Node:
        """Mean loss over windows `[b, window]` of what the target said."""

    @abstractmethod
    def begin(self, features: FloatArray) -> Operand:
        """Make the first state `[b, D]` of the target's features `[b, F]`."""

    @abstractmethod
    def advance(self, i: int, state: Operand, tokens: IntArray) -> tuple[Operand, Node]:
        """Go one token further.

        Args:
            i: which draft comes next, from 0.
            state: `[b, D]`.
            tokens: the token before that draft `[b]`.

        Returns:
            The next state, and the logits of the draft `[b, V]`.
        """

    def logits(self, sequences: Sequences, num_draft: IntArray, drafts: IntArray) -> Iterator[FloatArray]:
        """Yield the head's logits `[b, V]` at one position after the other.

        Raises:
            ValueError: the sequences have no features.
        """
        rows = np.flatnonzero(num_draft)
        if not rows.size:
            return
        if sequences.features is None:
            raise ValueError(
                f"{type(self).__name__} drafts from the target's features, but the sequences have none: "
                "let a target that has features give the first token by prefill"
            )
        state = self.begin(sequences.features[rows])
        said = np.column_stack([np.full(len(rows), BOS), sequences.tokens[rows]])
        tokens = said[np.arange(len(rows)), sequences.lengths[rows]]
        for i in range(num_draft.max()):
            state, drafted = self.advance(i, state, tokens)
            logits = np.zeros((len(num_draft), self.vocabulary_size))
            logits[rows] = drafted.value
            yield logits
            tokens = drafts[rows, i]

    def unroll(self, windows: Corpus, steps: int) -> Iterator[Node]:
        """Yield the logits `[b, V]` of drafts 0, 1, … behind windows whose tokens are given, `[b, T]`."""
        state = self.begin(windows.features[:, 0])
        for i in range(steps):
            state, logits = self.advance(i, state, windows.tokens[:, i + 1])
            yield logits

    def last_layer(self, features: FloatArray) -> FloatArray:
        """Take the hidden state `[b, D]` that the target's LM head reads out of its features `[b, F]`."""
        return features[:, -self.target.shape.width :]

    def lm_head(self, state: Operand) -> Node:
        """Let the target's LM head make logits of a state: `[b, D] -> [b, V]`."""
        return linear(state, self.target.weights.head)


def random_matrix(rng: np.random.Generator, inputs: int, outputs: int) -> Node:
    """Draw a weight `[inputs, outputs]` that keeps the size of what it multiplies."""
    return Node(rng.normal(scale=1 / np.sqrt(inputs), size=(inputs, outputs)))


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Joins a state to the embedding of the token behind it, and passes both through a gated MLP.

    Attributes:
        state_norm: gain of the state's RMSNorm `[D]`.
        token_norm: gain of the embedding's RMSNorm `[D]`.
        project: of both side by side `[2 D, D]`.
        mlp_norm: gain of the RMSNorm before the MLP `[D]`.
        gate: `[D, hidden]`.
        up: what the gate multiplies `[D, hidden]`.
        down: back to the residual stream `[hidden, D]`.
    """

    state_norm: Node
    token_norm: Node
    project: Node
    mlp_norm: Node
    gate: Node
    up: Node
    down: Node

    @classmethod
    def random(cls, rng: np.random.Generator, width: int, hidden: int) -> Self:
        """Draw the weights of a layer that is to be fitted."""
        norms = {name: Node(np.ones(width)) for name in ("state_norm", "token_norm", "mlp_norm")}
        return cls(
            **norms,
            project=random_matrix(rng, 2 * width, width),
            gate=random_matrix(rng, width, hidden),
            up=random_matrix(rng, width, hidden),
            down=random_matrix(rng, hidden, width),
        )

    @property
    def parameters(self) -> list[Node]:
        """All weights."""
        return [getattr(self, field.name) for field in fields(self)]

    def __call__(self, state: Operand, embedded: FloatArray) -> Node:
        """Return the next state: `[b, D]`, `[b, D] -> [b, D]`."""
        both = concatenate(rms_norm(state, self.state_norm), rms_norm(embedded, self.token_norm))
        stream = linear(both, self.project)
        normed = rms_norm(stream, self.mlp_norm)
        gated = multiply(silu(linear(normed, self.gate)), linear(normed, self.up))
        return add(stream, linear(gated, self.down))
