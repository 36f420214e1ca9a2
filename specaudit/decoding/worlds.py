"""Named worlds: a target and a drafter over one small vocabulary, with all laws known."""

from dataclasses import dataclass

from specaudit.decoding.models.markov import MarkovModel


@dataclass(frozen=True, kw_only=True)
class World:
    """A target with the drafter that speculates for it.

    Attributes:
        name: what suites and commands call it.
        target: the model whose law the output must have.
        drafter: the model that proposes tokens, over the same vocabulary.
        eos: token that ends a completion; None if the world has none.

    Raises:
        ValueError: the vocabularies differ, or `eos` is not a token.
    """

    name: str
    target: MarkovModel
    drafter: MarkovModel
    eos: int | None = None

    def __post_init__(self) -> None:
        if self.drafter.vocabulary_size != self.vocabulary_size:
            raise ValueError(
                f"world {self.name}: the target has {self.vocabulary_size} tokens, "
                f"the drafter {self.drafter.vocabulary_size}"
            )
        if self.eos is not None and not 0 <= self.eos < self.vocabulary_size:
            raise ValueError(f"world {self.name}: eos {self.eos} is not one of {self.vocabulary_size} tokens")

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
    drafter=MarkovModel(
        start=[0.17, 0.24, 0.52, 0.07],
        transition=[
            [0.15, 0.28, 0.28, 0.29],
            [0.12, 0.21, 0.30, 0.37],
            [0.21, 0.10, 0.59, 0.10],
            [0.31, 0.10, 0.23, 0.36],
        ],
    ),
)

WORLDS = {world.name: world for world in (MARKOV4,)}
