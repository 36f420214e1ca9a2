"""All words of a completion together: one view, for a fifth of the tokens that views by depth take.

Words stand side by side, each L tokens long. Where the law of every token is known, in process or by teacher forcing,
each becomes a point of its law, and L points a cell: under the target's law the cells are equally likely and words are
independent, whatever their contexts. Elsewhere each token becomes its rank in the pilot, at its prompt and position,
and the shares of words in the cells are compared between the arms: there, words of one completion depend on each other.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.law1.judged import RARE, JudgedView, misfit
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.ranks import points_of
from specaudit.checks.tokens import KnownTokens, ScoredTokens
from specaudit.checks.whole_sample import EXCEEDANCES, Levels
from specaudit.laws.words import Word
from specaudit.model.evidence import END, Draws
from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.clusters import compare_clusters, design_effect
from specaudit.stats.distance import tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.power import completions_needed

_CELLS = 64
"""At most, unless words are longer than six tokens."""

_MARGIN = 2.0
"""A lumped cell has so many times the expected count that a cell must have: the pilot's shares are estimates."""


def bins_of(settings: LawSettings) -> int:
    """Return the bins of each token: as many as leave a word at most 64 cells, and two at least."""
    return max(2, int(_CELLS ** (1 / settings.word_length) + 1e-9))


def needed_known(settings: LawSettings, length: int, *, hidden: float, delta: float, success: float) -> int:
    """Return the completions of `length` tokens at which a subject without deviation conforms, its law being known.

    `hidden` is what tokens at the edge of the filters, and numerics, may hide of a word's total variation.
    """
    cells = bins_of(settings) ** settings.word_length
    words = completions_needed(cells - 1, settings.tolerance - hidden, delta=delta, success=success)
    return ceil(words / (length // settings.word_length))


def view_of_points(
    settings: LawSettings, parts: Sequence[ScoredTokens], length: int, law: str, levels: Levels
) -> JudgedView | None:
    """Judge words whose tokens all have known laws; None where there are none.

    Args:
        settings: The check's.
        parts: All that was scored of the subject.
        length: Tokens of a completion.
        law: How the law is known, for the report.
        levels: Of error.
    """
    bins, size = bins_of(settings), settings.word_length
    known = [one.known for one in parts if one.known is not None]
    split = [_words_of(one, bins, size) for one in known]
    codes = np.concatenate([part[0] for part in split]) if split else np.empty(0, np.int64)
    if not len(codes):
        return None
    cells = bins**size
    impossible = int((codes < 0).sum())
    counts = np.bincount(codes[codes >= 0], minlength=cells)
    pmf = np.full(cells, 1 / cells)
    if impossible:
        counts, pmf = np.append(counts, impossible), np.append(pmf, 0.0)
    test = goodness_of_fit([counts], [pmf], draws=levels.draws, stop_after=EXCEEDANCES, rng=levels.rng)
    assert test.monte_carlo is not None
    distance = tv_from_law([counts], [pmf])
    hidden = float(np.concatenate([part[1] for part in split]).mean())
    last = length // size * size
    unscored = sum(one.unscored_in(0, last) for one in parts) / size
    missing = unscored / (len(codes) + unscored)
    names = [*_bin_words(bins, size), *([("(impossible)",)] if impossible else [])]
    found = misfit([names], [counts], [pmf * len(codes)])
    high = 1.0 if levels.early else tv_upper_bound(test, delta=levels.delta, tail_mass=min(1.0, hidden))
    return JudgedView(
        words=_named(settings),
        distance=f"total variation in {cells} bins of rank",
        level=law,
        samples=len(codes),
        estimate=distance.estimate,
        under_equality=distance.expected_under_equality,
        statistic=test.statistic,
        dof=test.dof,
        effective_size=test.effective_size,
        p_value=test.monte_carlo.p_value,
        method="Monte Carlo",
        low=0.0 if levels.early else max(0.0, distance.lower_bound(levels.alpha) - missing - levels.numeric),
        high=min(1.0, high + missing + levels.numeric),
        missing=missing,
        witness=found.witness("in bins of rank, likely tokens first"),
        cells=found.exhibit("in bins of rank, likely tokens first"),
    )


def _words_of(known: KnownTokens, bins: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cell of each whole word, -1 with an impossible token `[W]`, and what edge tokens can hide of it `[W]`."""
    points, depth = points_of(known), known.depth
    completion = np.repeat(np.arange(len(known.completions.lengths)), known.completions.lengths)
    starts = np.flatnonzero(depth % size == 0)
    starts = starts[starts + size <= len(depth)]
    places = starts[:, None] + np.arange(size)
    together = (completion[places] == completion[starts][:, None]).all(axis=1)
    places = places[together & (depth[places] == depth[starts][:, None] + np.arange(size)).all(axis=1)]
    codes = (points.at[places] * bins).astype(np.int64) @ bins ** np.arange(size)[::-1]
    return np.where(points.impossible[places].any(axis=1), -1, codes), points.hidden[places].sum(axis=1)


class Ranks:
    """Cells of words where only the reference's own words are known, fixed by the pilot.

    Each token is one of the pilot's most frequent ones at its prompt and position, or another; words of which the
    planned sample would hold too few share a cell.

    Args:
        settings: The check's.
        pilot: Words of the reference that never enter the test.
    """

    def __init__(self, settings: LawSettings, pilot: Draws) -> None:
        self._settings = settings
        self._width = pilot.tokens.shape[1] // settings.word_length * settings.word_length
        self._first: dict[tuple[int, int], dict[int | str, int]] = {}
        for prompt in range(settings.prompts):
            rows = pilot.tokens[pilot.prompt_index == prompt]
            for position in range(self._width):
                counts = Counter(rows[:, position].tolist())
                first = sorted(counts, key=lambda code: (-counts[code], code))[: settings.classes - 1]
                self._first[prompt, position] = {_token(pilot, code): rank for rank, code in enumerate(first)}
        self.shares = [table.sum(axis=0) / max(1.0, table.sum()) for table in self.counts(pilot, whole=True)]
        """Of the pilot's words by prompt `[C]`."""
        self.design_effect = max(
            (design_effect(table) for table in self.counts(pilot, whole=True) if len(table) > 1), default=1.0
        )
        self.lossless = max(map(len, self._seen(pilot)), default=0) <= settings.classes

    def counts(self, draws: Draws, *, whole: bool = False, completions: int = 0) -> list[NDArray[np.float64]]:
        """Return words by completion and cell `[R, C]`, for each prompt.

        Args:
            draws: Completions of an arm.
            whole: Keep every cell apart; otherwise cells that a sample of so many `completions` fills badly share one.
            completions: Of all prompts together.
        """
        size, classes = self._settings.word_length, self._settings.classes
        tables = []
        for prompt in range(self._settings.prompts):
            rows = draws.tokens[draws.prompt_index == prompt, : self._width]
            ranks = np.column_stack([self._ranked(draws, rows, prompt, i) for i in range(rows.shape[1])])
            codes = ranks.reshape(len(rows), -1, size) @ classes ** np.arange(size)[::-1]
            table = np.zeros((len(rows), classes**size))
            np.add.at(table, (np.arange(len(rows))[:, None], codes), 1)
            tables.append(table if whole else table @ self._lumping(prompt, completions))
        return tables

    def words(self, prompt: int, completions: int) -> list[Word]:
        """Return what each cell of `counts` stands for: ranks in the pilot, from 1."""
        names = list(product(range(1, self._settings.classes + 1), repeat=self._settings.word_length))
        alone = self._alone(prompt, completions)
        spelt: list[Word] = [tuple(f"#{rank}" for rank in names[cell]) for cell in np.flatnonzero(alone)]
        return [*spelt, (RARE,)]

    def needed(self, length: int, *, delta: float, success: float) -> int:
        """Return the completions per arm at which a subject without deviation conforms."""
        words = length // self._settings.word_length
        count = 100
        while count < self._settings.max_completions:
            dof = sum(int(self._alone(prompt, count).sum()) for prompt in range(self._settings.prompts))
            wanted = completions_needed(max(1, dof), self._settings.tolerance, delta=delta, success=success, samples=2)
            if count * words >= wanted * self.design_effect:
                break
            count += count // 10
        return min(count, self._settings.max_completions)

    def _ranked(self, draws: Draws, rows: NDArray[np.int64], prompt: int, position: int) -> NDArray[np.int64]:
        # END is -1 and finds the last entry.
        first, rest = self._first[prompt, position], self._settings.classes - 1
        table = np.array([first.get(token, rest) for token in (*draws.vocabulary, END)], dtype=np.int64)
        return table[rows[:, position]]

    def _alone(self, prompt: int, completions: int) -> NDArray[np.bool_]:
        """Which cells a sample of so many completions fills; the others share one, which must be filled as well `[C]`.

        Where the pilot saw too little of these, which is no reason for the sample to see nothing of them, the rarest
        of the filled cells joins them.
        """
        shares = self.shares[prompt]
        words = completions * (self._width // self._settings.word_length) / self._settings.prompts
        alone: NDArray[np.bool_] = shares * words >= _MARGIN * MIN_EXPECTED
        if shares[~alone].sum() * words < _MARGIN * MIN_EXPECTED and alone.sum() > 1:
            alone[np.flatnonzero(alone)[np.argmin(shares[alone])]] = False
        return alone

    def _lumping(self, prompt: int, completions: int) -> NDArray[np.float64]:
        """A matrix that keeps cells which will be filled, and adds up the others `[C, C' + 1]`."""
        alone = self._alone(prompt, completions)
        lumping = np.zeros((len(alone), int(alone.sum()) + 1))
        lumping[np.flatnonzero(alone), np.arange(int(alone.sum()))] = 1
        lumping[~alone, -1] = 1
        return lumping

    def _seen(self, pilot: Draws) -> list[set[int]]:
        by_prompt = (pilot.tokens[pilot.prompt_index == prompt] for prompt in range(self._settings.prompts))
        return [set(rows[:, i].tolist()) for rows in by_prompt for i in range(self._width)]


def view_of_arms(
    settings: LawSettings, ranks: Ranks, subject: Draws, reference: Draws, planned: int, levels: Levels
) -> JudgedView | None:
    """Judge the words of both arms; None where a prompt has too few of them.

    Its p-value is asymptotic and describes. What is lumped or in one class stays unseen.
    """
    ours, theirs = (ranks.counts(arm, completions=planned) for arm in (subject, reference))
    if min(map(len, (*ours, *theirs))) < 2:
        return None
    found = compare_clusters(ours, theirs)
    lost = subject.lost_fraction + reference.lost_fraction
    mine, other = ([table.sum(axis=0) for table in arm] for arm in (ours, theirs))
    worst = misfit(
        [ranks.words(prompt, planned) for prompt in range(settings.prompts)],
        mine,
        [row / max(1.0, row.sum()) * own.sum() for row, own in zip(other, mine, strict=True)],
    )
    return JudgedView(
        words=_named(settings),
        level="sampled" if ranks.lossless else f"sampled, {settings.classes} classes a token",
        samples=int(sum(row.sum() for row in mine)),
        estimate=found.estimate,
        under_equality=found.expected_under_equality,
        statistic=found.statistic,
        dof=found.dof,
        effective_size=found.effective_size,
        p_value=found.p_value,
        method=f"Wald, clusters with a design effect of {found.design_effect:.2f}",
        low=0.0 if levels.early else max(0.0, found.lower_bound(levels.alpha) - lost),
        high=1.0 if levels.early else min(1.0, found.upper_bound(levels.delta) + lost),
        witness=worst.witness("in ranks of the pilot"),
        cells=worst.exhibit("in ranks of the pilot"),
        decides=False,
    )


def _named(settings: LawSettings) -> str:
    return f"words of {settings.word_length} tokens anywhere in a completion"


def _bin_words(bins: int, size: int) -> list[Word]:
    return [tuple(f"{i + 1}/{bins}" for i in word) for word in product(range(bins), repeat=size)]


def _token(draws: Draws, code: int) -> int | str:
    return END if code == END else draws.vocabulary[code]
