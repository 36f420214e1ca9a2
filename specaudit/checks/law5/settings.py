"""Settings of LAW5."""

from typing import Annotated

import msgspec

from specaudit.checks.law1.settings import LawSettings
from specaudit.model.request import Sampling
from specaudit.model.suite import SequentialSettings
from specaudit.stats.evalues.slack import check_slack


class MatrixSettings(SequentialSettings, frozen=True, kw_only=True):
    """What `[checks.LAW5]` of a suite may say. Of every parameter the neutral value is in the matrix too."""

    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.2
    """Total variation of the words' law from the target's that is tolerated, in each cell."""
    temperature: tuple[Annotated[float, msgspec.Meta(gt=0, le=100)], ...] = (0.3, 0.7, 1.5)
    top_p: tuple[Annotated[float, msgspec.Meta(gt=0, le=1)], ...] = (0.9, 0.5)
    top_k: tuple[Annotated[int, msgspec.Meta(ge=1)], ...] = (3,)
    min_p: tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...] = (0.1,)
    presence_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] = 1.0
    """Penalties are levels of one parameter: at most one is on in a cell. 0 leaves it out."""
    frequency_penalty: Annotated[float, msgspec.Meta(ge=-2, le=2)] = 0.7
    """0 leaves it out."""
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0, le=100)] = 1.5
    """1 leaves it out."""
    logit_bias: Annotated[float, msgspec.Meta(ge=-100, le=100)] = 2.0
    """Added to the logit of a common token, which the reference's completions tell; 0 leaves it out."""
    bad_words: bool = True
    """Forbid a common pair of tokens, which the reference's completions tell."""
    grammar: str | None = "([ab][cd]){100}"
    """Regular expression that the text must follow; none leaves it out. It should not end within a completion."""
    word_length: Annotated[int, msgspec.Meta(ge=1, le=8)] = 2
    blocks: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    """In which each cell's sample is collected, each as large as all before it."""
    success: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.99
    """Wanted probability that an engine without any deviation conforms in a cell."""
    max_completions: Annotated[int, msgspec.Meta(ge=100, le=200_000)] = 600
    """Per cell and arm."""
    pilot: Annotated[int, msgspec.Meta(ge=100, le=200_000)] = 100
    """Completions of the reference in each cell that choose the cells of its histogram, where no law is known."""

    def __post_init__(self) -> None:
        """Refuse a slack that hides as much as is tolerated."""
        check_slack(self.slack, length=self.word_length, tolerance=self.tolerance)

    def of_cell(self, sampling: Sampling) -> LawSettings:
        """Return how LAW1 judges a cell: by all words of a completion together, each completion a request of its own.

        A cell needs few completions, and in some these hardly differ: choices could not be told from copies.
        """
        return LawSettings(
            fixed_n=self.fixed_n,
            slack=self.slack,
            tolerance=self.tolerance,
            bound="completions",
            word_length=self.word_length,
            sampling=sampling,
            choices=1,
            blocks=self.blocks,
            success=self.success,
            max_completions=self.max_completions,
            pilot=self.pilot,
        )
