"""Named worlds: a target and a drafter over one small vocabulary, with all laws known."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from specaudit.decoding.drafters.feature_head import Eagle3Drafter, EagleDrafter
from specaudit.decoding.drafters.interface import Drafter
from specaudit.decoding.drafters.makers import FittedHead, Lookup
from specaudit.decoding.drafters.mtp import MultiTokenDrafter
from specaudit.decoding.drafters.parallel_heads import ParallelHeadsDrafter
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.lexemes import END, RENAME_PROMPT, RENAMED, encode, lexemes
from specaudit.decoding.models.interface import Model
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.models.ngram import NgramModel
from specaudit.decoding.models.recurrent import RecurrentModel
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.precision import Bfloat16Head, Precision, QuantisedTransformer
from specaudit.decoding.tree.drafter import TreeDrafter
from specaudit.decoding.tree.topology import Topology


class DrafterMaker(Protocol):
    """Makes the drafter of one decoder, which remembers that decoder's sequences."""

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V` that the drafter proposes from."""
        ...

    def __call__(self, slots: int) -> Drafter:
        """Return a drafter that holds that many sequences at once."""
        ...


@dataclass(frozen=True, kw_only=True)
class SmallModel:
    """Makes drafters that draft with a smaller model.

    Attributes:
        model: proposes the tokens.
        greedy: propose its most likely tokens, with one-hot laws.
    """

    model: Model
    greedy: bool = False

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.model.vocabulary_size

    def __call__(self, slots: int) -> SmallModelDrafter:
        """Return a drafter that holds that many sequences at once."""
        return SmallModelDrafter(self.model, slots, greedy=self.greedy)


@dataclass(frozen=True, kw_only=True)
class TreeModel:
    """Makes drafters that draft trees with a smaller model.

    Attributes:
        model: proposes the tokens.
        topology: shape of the trees.
        replacement: whether siblings may be equal.
    """

    model: Model
    topology: Topology
    replacement: bool = False

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.model.vocabulary_size

    def __call__(self, slots: int) -> TreeDrafter:
        """Return a drafter that holds that many sequences at once."""
        return TreeDrafter(self.model, self.topology, slots, replacement=self.replacement)


@dataclass(frozen=True, kw_only=True)
class World:
    """A target with what speculates for it.

    Attributes:
        name: what suites and commands call it.
        target: the model whose law the output must have.
        drafter: makes the drafter that proposes tokens, over the same vocabulary.
        eos: token that ends a completion; None if the world has none.
        texts: what each token spells `[V]`; None where tokens have no text.
        topology: shape of the trees that are drafted; None where chains are.
        full_precision: name of the world whose target was quantised to make this one's; None where none was.
        padding: how many of the last ids are no tokens: the tokenizer gives none of them.

    Raises:
        ValueError: the vocabularies differ, or `eos` is not a token.
    """

    name: str
    target: Model
    drafter: DrafterMaker
    eos: int | None = None
    texts: tuple[str, ...] | None = None
    topology: Topology | None = None
    full_precision: str | None = None
    padding: int = 0

    def __post_init__(self) -> None:
        if self.drafter.vocabulary_size != self.vocabulary_size:
            raise ValueError(
                f"world {self.name}: the target has {self.vocabulary_size} tokens, "
                f"the drafter {self.drafter.vocabulary_size}"
            )
        if self.eos is not None and not 0 <= self.eos < self.vocabulary_size:
            raise ValueError(f"world {self.name}: eos {self.eos} is not one of {self.vocabulary_size} tokens")
        if self.texts is not None and len(self.texts) != self.vocabulary_size:
            raise ValueError(f"world {self.name}: {len(self.texts)} texts for {self.vocabulary_size} tokens")

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.target.vocabulary_size


# With three-token words drafted from the first token, three drafts a step, drawing replacements from the
# target moves the law by TV .174, while even the rarest of the 64 words has probability 5.8e-4: faults
# stand out at a sample size at which every cell of a histogram is well filled.
MARKOV4 = World(
    name="markov4",
    target=MarkovModel(
        start=[0.16, 0.23, 0.46, 0.15],
        transition=[
            [0.06, 0.65, 0.21, 0.08],
            [0.19, 0.06, 0.59, 0.16],
            [0.33, 0.46, 0.14, 0.07],
            [0.18, 0.35, 0.16, 0.31],
        ],
    ),
    drafter=SmallModel(
        model=MarkovModel(
            start=[0.17, 0.24, 0.52, 0.07],
            transition=[
                [0.15, 0.28, 0.28, 0.29],
                [0.12, 0.21, 0.30, 0.37],
                [0.21, 0.10, 0.59, 0.10],
                [0.31, 0.10, 0.23, 0.36],
            ],
        )
    ),
)

# Whoever renames a variable says almost everything again: prompt lookup at its best.
_TEXTS = lexemes(RENAMED + RENAME_PROMPT)
CODE = World(
    name="code",
    target=NgramModel(encode(RENAME_PROMPT, _TEXTS)[-1:] + encode(RENAMED, _TEXTS), len(_TEXTS), order=5),
    drafter=Lookup(vocabulary_size=len(_TEXTS)),
    eos=_TEXTS.index(END),
    texts=_TEXTS,
)


def _cycle(size: int, seed: int, misled: tuple[int, ...] = ()) -> MarkovModel:
    """A chain whose likeliest token is the next number, 0 behind the last; behind `misled` ones the next but one."""
    rows = 0.5 * np.random.default_rng(seed).dirichlet(np.full(size + 1, 0.5), size + 1)[:, :size]
    likeliest = (np.arange(-1, size) + 1) % size
    likeliest[1:][list(misled)] += 1
    rows[np.arange(size + 1), likeliest % size] += 0.5
    rows /= rows.sum(axis=1, keepdims=True)
    return MarkovModel(start=rows[0].tolist(), transition=rows[1:].tolist())


# Greedy decoding says all tokens one after the other and comes to EOS, and drafts of it are accepted in runs: stops of
# every kind fall inside accepted blocks. In markov4 no draft is ever accepted at temperature 0.
CYCLE16 = World(
    name="cycle16", target=_cycle(16, seed=0), drafter=SmallModel(model=_cycle(16, seed=1, misled=(3, 9, 12))), eos=15
)

MARKOV4_LOOKUP = World(name="markov4-lookup", target=MARKOV4.target, drafter=Lookup(vocabulary_size=4))

# Sharp enough that the next token tells much of the one behind it, so that a head has something to know.
_TRANSFORMER = Transformer.from_seed(Shape(vocabulary=8, sharpness=3.0, layer_gain=0.35), seed=0)
_RECURRENT = RecurrentModel.from_seed(8, 16, seed=3)

_DRAFTERS: dict[str, DrafterMaker] = {
    "transformer8": SmallModel(model=_TRANSFORMER.truncated(2)),
    "transformer8-lookup": Lookup(vocabulary_size=8),
    "transformer8-eagle": FittedHead(target=_TRANSFORMER, build=partial(EagleDrafter, seed=0)),
    "transformer8-eagle3": FittedHead(target=_TRANSFORMER, build=partial(Eagle3Drafter, seed=0)),
    "transformer8-mtp": FittedHead(target=_TRANSFORMER, build=partial(MultiTokenDrafter, seed=0)),
    "transformer8-medusa": FittedHead(target=_TRANSFORMER, build=ParallelHeadsDrafter),
}
TRANSFORMER8 = [World(name=name, target=_TRANSFORMER, drafter=drafter) for name, drafter in _DRAFTERS.items()]
"""One target with every kind of drafter."""

TRANSFORMER8_FP8 = World(
    name="transformer8-fp8",
    target=QuantisedTransformer(_TRANSFORMER, Precision()),
    drafter=_DRAFTERS["transformer8"],
    full_precision="transformer8",
)
"""Its own target, not a faulty transformer8: audits compare it with its own plain decoding."""

TRANSFORMER8_BF16 = World(
    name="transformer8-bf16", target=Bfloat16Head(_TRANSFORMER), drafter=_DRAFTERS["transformer8"]
)
"""Its logits move a little with the width of the batch; audits compare it with its own plain decoding."""

RECURRENT8 = World(name="recurrent8", target=_RECURRENT, drafter=SmallModel(model=_RECURRENT.perturbed(0.3, seed=1)))


def _with_trees(name: str, world: World) -> World:
    """Let a world's small model draft trees of two, four and four tokens instead of chains."""
    assert isinstance(world.drafter, SmallModel)
    topology = Topology([0, 0, 1, 1, 2, 2, 3, 4, 5, 6])
    return World(
        name=name,
        target=world.target,
        drafter=TreeModel(model=world.drafter.model, topology=topology),
        topology=topology,
    )


MARKOV4_TREE = _with_trees("markov4-tree", MARKOV4)
TRANSFORMER8_TREE = _with_trees("transformer8-tree", TRANSFORMER8[0])

_MARKOV4S = (MARKOV4, MARKOV4_LOOKUP, MARKOV4_TREE)
_TRANSFORMER8S = (*TRANSFORMER8, TRANSFORMER8_TREE, TRANSFORMER8_FP8, TRANSFORMER8_BF16)
WORLDS = {world.name: world for world in (*_MARKOV4S, CYCLE16, *_TRANSFORMER8S, RECURRENT8, CODE)}
