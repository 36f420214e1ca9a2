"""What LAW1 makes of some of the words: one view, tested and bounded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.exhibits import cells as cells_of
from specaudit.laws.words import Word
from specaudit.model.evidence import END
from specaudit.model.exhibit import Exhibit
from specaudit.model.finding import Effect, Statistic, View, Witness

RARE = "(rare or unforeseen)"
"""Stands in a witness for the words that share the last cell."""


@dataclass(frozen=True, kw_only=True)
class JudgedView:
    """Some of the words, against the target's."""

    words: str
    """Which words, e.g. `words of 3 tokens from depth 2`."""
    level: str
    samples: int
    estimate: float
    """Total variation, as it is measured."""
    under_equality: float
    statistic: float
    dof: int
    effective_size: float
    """Independent draws of one sample that would tell as much."""
    p_value: float
    method: str
    low: float
    """Lower bound of the total variation at the view's level alpha, so that the largest of all views is one too."""
    high: float
    """Upper bound at level 1 - delta; 1 where the sample was ended by what it showed."""
    witness: Witness
    cells: Exhibit
    """Words of the prompt that deviates most."""
    missing: float = 0.0
    """Share of the words that were to be judged and are not, beside completions that were lost."""
    distance: str = "total variation"
    decides: bool = True
    """Its p-value may accuse; otherwise it describes."""
    bounds: bool = True
    """Its upper bound must be below the tolerance; otherwise it describes."""

    def record(self, tolerance: float, confidence: float) -> View:
        """Return the view as it stands in the finding."""
        return View(
            name=self.words,
            samples=self.samples,
            law=self.level,
            effect=Effect(
                name=self.distance,
                value=self.estimate,
                under_equality=self.under_equality,
                low=self.low,
                high=self.high,
                confidence=confidence,
                tolerance=tolerance,
            ),
            statistic=Statistic(
                name="chi-square",
                value=self.statistic if np.isfinite(self.statistic) else None,
                degrees_of_freedom=self.dof,
                p_value=self.p_value,
                method=self.method,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """The prompt with the word that adds most to the chi-square."""

    prompt: str
    """Which it is, the end of a phrase; empty where there is one."""
    words: Sequence[str]
    counts: NDArray[np.float64] | NDArray[np.int64]
    expected: NDArray[np.float64]
    worst: int
    """The word."""

    def witness(self, where: str) -> Witness:
        """Return the word, with its share among its prompt's words."""
        total = max(1.0, float(self.counts.sum()))
        return Witness(
            what=f"word {self.words[self.worst]!r} {where}{self.prompt}",
            observed=float(self.counts[self.worst] / total),
            expected=float(self.expected[self.worst] / total),
            unit="share of words",
        )

    def exhibit(self, where: str) -> Exhibit:
        """Return all words of the prompt."""
        return cells_of(f"Words {where}{self.prompt}", self.words, self.counts, self.expected)


def misfit(
    words: Sequence[Sequence[Word]],
    counts: Sequence[NDArray[np.float64] | NDArray[np.int64]],
    expected: Sequence[NDArray[np.float64]],
) -> Misfit:
    """Find the word that adds most to the chi-square.

    Args:
        words: By prompt, what each cell stands for.
        counts: By prompt, `[C]`.
        expected: The same under the target's law.
    """
    scores = [(row - mean) ** 2 / np.maximum(mean, 1e-9) for row, mean in zip(counts, expected, strict=True)]
    prompt = int(np.argmax([score.max() for score in scores]))
    return Misfit(
        prompt=f" of prompt {prompt}" if len(words) > 1 else "",
        words=[" ".join("(end)" if token == END else str(token) for token in word) for word in words[prompt]],
        counts=counts[prompt],
        expected=expected[prompt],
        worst=int(np.argmax(scores[prompt])),
    )
